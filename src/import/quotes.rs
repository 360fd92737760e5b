//! Text behind a closing quote, which the reader of records would join to the field without a word: an inch sign or a
//! quotation that whoever wrote the file did not double.
//!
//! It follows the bytes beside that reader, in the same states.

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    FieldBegins,
    Unquoted,
    Quoted,
    /// A quote inside quotes: the first of two, or the end of the field.
    Quote,
    /// White space behind the end of a quoted field.
    Closed,
}

/// Where text stands behind a closing quote.
#[derive(Debug)]
pub(super) struct Strays {
    delimiter: u8,
    state: State,
    read: u64,
    /// Bytes from where it began.
    found: VecDeque<u64>,
}

impl Strays {
    pub fn new(delimiter: u8) -> Self {
        Self { delimiter, state: State::default(), read: 0, found: VecDeque::new() }
    }

    /// The next bytes of the file.
    pub fn follow(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let ends = byte == self.delimiter || byte == b'\n';
            self.state = match (self.state, byte) {
                (State::Quoted, b'"') => State::Quote,
                (State::Quoted, _) | (State::Quote, b'"') => State::Quoted,
                _ if ends => State::FieldBegins,
                (State::FieldBegins, b'"') => State::Quoted,
                (State::FieldBegins | State::Unquoted, _) => State::Unquoted,
                (State::Quote | State::Closed, b' ' | b'\t' | b'\r') => State::Closed,
                (State::Quote | State::Closed, _) => {
                    self.found.push_back(self.read);
                    State::Unquoted
                }
            };
            self.read += 1;
        }
    }

    /// Whether there is any before this byte; it is asked in order.
    pub fn before(&mut self, end: u64) -> bool {
        let mut any = false;
        while self.found.front().is_some_and(|at| *at < end) {
            self.found.pop_front();
            any = true;
        }
        any
    }
}
