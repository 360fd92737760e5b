//! The page's own files, embedded; no build step stands between them and the browser.
//!
//! What it promises: nothing is loaded from elsewhere, no text becomes a script, and no other page can show this one.

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Path, kind and text of each file.
const FILES: [(&str, &str, &str); 25] = [
    ("/", HTML, include_str!("web/index.html")),
    ("/app.css", CSS, include_str!("web/app.css")),
    ("/message.css", CSS, include_str!("web/message.css")),
    ("/theme.js", JAVASCRIPT, include_str!("web/theme.js")),
    ("/app.js", JAVASCRIPT, include_str!("web/app.js")),
    ("/actions.js", JAVASCRIPT, include_str!("web/actions.js")),
    ("/blocks.js", JAVASCRIPT, include_str!("web/blocks.js")),
    ("/composer.js", JAVASCRIPT, include_str!("web/composer.js")),
    ("/dom.js", JAVASCRIPT, include_str!("web/dom.js")),
    ("/elements.js", JAVASCRIPT, include_str!("web/elements.js")),
    ("/emoji.js", JAVASCRIPT, include_str!("web/emoji.js")),
    ("/format.js", JAVASCRIPT, include_str!("web/format.js")),
    ("/home.js", JAVASCRIPT, include_str!("web/home.js")),
    ("/icons.js", JAVASCRIPT, include_str!("web/icons.js")),
    ("/message.js", JAVASCRIPT, include_str!("web/message.js")),
    ("/messages.js", JAVASCRIPT, include_str!("web/messages.js")),
    ("/modal.js", JAVASCRIPT, include_str!("web/modal.js")),
    ("/net.js", JAVASCRIPT, include_str!("web/net.js")),
    ("/place.js", JAVASCRIPT, include_str!("web/place.js")),
    ("/popup.js", JAVASCRIPT, include_str!("web/popup.js")),
    ("/side.js", JAVASCRIPT, include_str!("web/side.js")),
    ("/state.js", JAVASCRIPT, include_str!("web/state.js")),
    ("/text.js", JAVASCRIPT, include_str!("web/text.js")),
    ("/underneath.css", CSS, include_str!("web/underneath.css")),
    ("/underneath.js", JAVASCRIPT, include_str!("web/underneath.js")),
];

/// A route for each file.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.iter().fold(Router::new(), |router, &(path, kind, text)| router.route(path, get(move || file(kind, text))))
}

async fn file(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, text).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::Lang;
    use crate::words::page as words;

    fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
        FILES.iter().filter(|f| f.1 == JAVASCRIPT).map(|f| (f.0, f.2))
    }

    /// What stands between `before` and the next quote.
    fn quoted(text: &'static str, before: &str) -> BTreeSet<&'static str> {
        text.split(before).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn each_file_of_the_page_is_served_and_loaded_with_the_first_paint() {
        let served: BTreeSet<&str> = FILES.iter().map(|f| f.0).collect();
        let index = FILES[0].2;
        for (path, text) in scripts() {
            assert!(path == "/" || index.contains(&format!("\"{path}\"")), "{path} is loaded late");
            for import in quoted(text, " from \"") {
                assert!(served.contains(import), "{path} imports {import}");
            }
        }
    }

    #[test]
    fn no_script_imports_one_that_imports_it() {
        let imports = |path: &str| {
            let text = FILES.iter().find(|f| f.0 == path).map_or("", |f| f.2);
            quoted(text, " from \"")
        };
        for (path, _) in scripts() {
            let (mut reached, mut open) = (BTreeSet::new(), vec![path]);
            while let Some(next) = open.pop() {
                for import in imports(next) {
                    assert_ne!(import, path, "{path} is imported by {next}, which it needs");
                    if reached.insert(import) {
                        open.push(import);
                    }
                }
            }
        }
    }

    #[test]
    fn the_page_and_the_catalogue_know_the_same_words() {
        let known: BTreeSet<String> = words::all(Lang::En).into_iter().map(|(name, _)| name.to_owned()).collect();
        let text: String = scripts().map(|f| f.1).collect();
        for (path, text) in scripts() {
            for name in quoted(text, "word(\"") {
                assert!(known.contains(name), "{path} says {name:?}, which is not in the catalogue");
            }
        }
        for name in &known {
            assert!(text.contains(&format!("\"{name}\"")), "nobody says {name:?}");
        }
    }

    #[test]
    fn no_script_makes_markup_of_text() {
        for (path, text) in scripts() {
            for way in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser", "srcdoc"]
            {
                assert!(!text.contains(way), "{path}: {way}");
            }
        }
    }
}
