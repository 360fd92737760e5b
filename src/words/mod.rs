//! Every sentence a person can read, in Japanese and English.
//!
//! The catalogue is compiled: each entry is a function of the language (and of what it mentions), so a sentence that is
//! missing in one language does not build. One file per place where people read: cards, replies, errors.

/// Declares sentences. Each becomes `pub fn name(lang: Lang, args…) -> String`; arguments are `impl Display` and are
/// inserted as they are, so the caller escapes them for the place the sentence goes to.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),*) { ja: $ja:literal, en: $en:literal $(,)? })*) => {
        $(
            $(#[$doc])*
            pub fn $name(lang: crate::domain::Lang $(, $arg: impl std::fmt::Display)*) -> String {
                match lang {
                    crate::domain::Lang::Ja => format!($ja),
                    crate::domain::Lang::En => format!($en),
                }
            }
        )*
    };
}

pub mod cards;
pub mod demo;
pub mod page;
pub mod playground;
pub mod presses;
pub mod replies;
pub mod surface;
pub mod work;
pub mod workspace;
