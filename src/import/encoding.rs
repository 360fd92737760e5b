//! UTF-8 and Shift_JIS, told apart by reading the whole file. Bytes that are no character are an error with their place;
//! they are never replaced.

use std::borrow::Cow;
use std::io::{self, Read};

use encoding_rs::{DecoderResult, SHIFT_JIS, UTF_8};

/// The character sets that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// With or without a byte order mark.
    Utf8,
    /// As Windows writes it: with 髙, ① and ㈱.
    ShiftJis,
}

/// What the person said about the character set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncodingChoice {
    /// Nothing: it is found out.
    #[default]
    Auto,
    /// This one.
    Fixed(Encoding),
}

/// Bytes that are no character of the encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Undecodable {
    /// The first of them, counted from 1 in the field.
    pub at: usize,
    /// Their values, such as `0x81 0x20`.
    pub bytes: String,
}

impl Encoding {
    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::ShiftJis => "Shift_JIS",
        }
    }

    fn codec(self) -> &'static encoding_rs::Encoding {
        match self {
            Self::Utf8 => UTF_8,
            Self::ShiftJis => SHIFT_JIS,
        }
    }

    /// The text of a field.
    pub(super) fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, Undecodable> {
        match self {
            Self::Utf8 => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
                let begin = error.valid_up_to();
                let length = error.error_len().unwrap_or(bytes.len() - begin);
                undecodable(bytes, begin, length)
            }),
            Self::ShiftJis => SHIFT_JIS.decode_without_bom_handling_and_without_replacement(bytes).ok_or_else(|| {
                let (begin, length) = first_malformed(bytes);
                undecodable(bytes, begin, length)
            }),
        }
    }
}

fn undecodable(bytes: &[u8], begin: usize, length: usize) -> Undecodable {
    let hex = bytes.iter().skip(begin).take(length).map(|b| format!("0x{b:02X}")).collect::<Vec<_>>();
    Undecodable { at: begin + 1, bytes: hex.join(" ") }
}

/// Where the first bytes that are no Shift_JIS begin, and how many they are.
fn first_malformed(bytes: &[u8]) -> (usize, usize) {
    let mut decoder = SHIFT_JIS.new_decoder_without_bom_handling();
    let mut text = [0; 256];
    let mut read = 0;
    loop {
        let rest = bytes.get(read..).unwrap_or_default();
        let (result, taken, _) = decoder.decode_to_utf8_without_replacement(rest, &mut text, true);
        read += taken;
        match result {
            DecoderResult::InputEmpty => return (read, 0),
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(length, after) => {
                return (read.saturating_sub(usize::from(length) + usize::from(after)), usize::from(length).max(1));
            }
        }
    }
}

/// What the beginning of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    /// The byte order mark of UTF-8, three bytes.
    Utf8,
    /// That of UTF-16 or UTF-32, which are not read.
    Utf16,
}

pub(super) fn mark(begin: &[u8]) -> Mark {
    if begin.starts_with(&[0xEF, 0xBB, 0xBF]) {
        Mark::Utf8
    } else if begin.starts_with(&[0xFF, 0xFE]) || begin.starts_with(&[0xFE, 0xFF]) {
        Mark::Utf16
    } else {
        Mark::None
    }
}

/// How many sequences of a file are no characters of an encoding; counting ends above `enough`.
fn malformed(encoding: Encoding, mut file: impl Read, enough: u64) -> io::Result<u64> {
    let mut decoder = encoding.codec().new_decoder_without_bom_handling();
    let (mut bytes, mut text) = (vec![0; 64 * 1024], vec![0; 256 * 1024]);
    let mut faults = 0;
    loop {
        let length = file.read(&mut bytes)?;
        let mut rest = bytes.get(..length).unwrap_or_default();
        loop {
            let (result, taken, _) = decoder.decode_to_utf8_without_replacement(rest, &mut text, length == 0);
            rest = rest.get(taken..).unwrap_or_default();
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => faults += 1,
            }
        }
        if length == 0 || faults > enough {
            return Ok(faults);
        }
    }
}

/// The encoding of a file: UTF-8 if all of it is; else Shift_JIS if all of it is; else the one with fewer faults, which
/// are then reported line by line. `open` gives the file from its beginning.
pub(super) fn detect<R: Read>(open: impl Fn() -> io::Result<R>) -> io::Result<Encoding> {
    let utf8 = malformed(Encoding::Utf8, open()?, 10_000)?;
    if utf8 == 0 {
        return Ok(Encoding::Utf8);
    }
    let shift_jis = malformed(Encoding::ShiftJis, open()?, 10_000)?;
    Ok(if shift_jis < utf8 { Encoding::ShiftJis } else { Encoding::Utf8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shift_jis(text: &str) -> Vec<u8> {
        let (bytes, _, lost) = SHIFT_JIS.encode(text);
        assert!(!lost, "{text}");
        bytes.into_owned()
    }

    fn found(bytes: &[u8]) -> Encoding {
        detect(|| Ok(bytes)).unwrap()
    }

    #[test]
    fn windows_letters_survive_and_their_bytes_are_not_delimiters() {
        // 髙 ① ㈱ are of Windows; the second byte of 表 is a backslash, of ポ a vertical line.
        for text in ["髙橋商店", "①㈱みどり", "表ソポ能", "ｶﾀｶﾅ"] {
            let bytes = shift_jis(text);
            assert_eq!(Encoding::ShiftJis.decode(&bytes).unwrap(), text);
            assert!(bytes.iter().all(|b| !b",\"\t\r\n".contains(b)), "{text}");
        }
    }

    #[test]
    fn an_encoding_is_found_from_the_whole_file() {
        assert_eq!(found(b""), Encoding::Utf8);
        assert_eq!(found(b"code,name\n1,a\n"), Encoding::Utf8);
        assert_eq!(found("コード,名前\n".as_bytes()), Encoding::Utf8);
        assert_eq!(found(&shift_jis("コード,名前\n1,髙橋\n")), Encoding::ShiftJis);
        let ascii_first = [b"a,b\n".repeat(100_000), shift_jis("髙橋")].concat();
        assert_eq!(found(&ascii_first), Encoding::ShiftJis, "the difference may come late");
        let broken = ["コード,名前\n1,青木\n".as_bytes(), b"2,\xff\xfe\n", "3,森と林\n".as_bytes()].concat();
        assert_eq!(found(&broken), Encoding::Utf8, "one broken line does not make a file Shift_JIS");
        let broken = [shift_jis("コード,名前\n1,青木\n"), b"2,\xff\n".to_vec()].concat();
        assert_eq!(found(&broken), Encoding::ShiftJis);
    }

    #[test]
    fn bytes_that_are_no_character_are_named_with_their_place() {
        let place = |encoding: Encoding, bytes: &[u8]| encoding.decode(bytes).unwrap_err();
        assert_eq!(place(Encoding::Utf8, b"ab\xffc"), Undecodable { at: 3, bytes: "0xFF".into() });
        assert_eq!(place(Encoding::Utf8, b"ab\xe3\x81"), Undecodable { at: 3, bytes: "0xE3 0x81".into() });
        let cut = [shift_jis("髙").as_slice(), &[0x81]].concat();
        assert_eq!(place(Encoding::ShiftJis, &cut), Undecodable { at: 3, bytes: "0x81".into() });
        assert_eq!(place(Encoding::ShiftJis, b"a\xffb").at, 2);
    }

    proptest::proptest! {
        #[test]
        fn a_refusal_always_points_into_the_field(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..40)) {
            for encoding in [Encoding::Utf8, Encoding::ShiftJis] {
                if let Err(fault) = encoding.decode(&bytes) {
                    proptest::prop_assert!((1..=bytes.len()).contains(&fault.at), "{:?}", fault);
                    proptest::prop_assert!(!fault.bytes.is_empty());
                }
            }
        }
    }
}
