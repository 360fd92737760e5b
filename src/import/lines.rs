//! The lines of a file: opened, its character set and columns found, then read one by one.
//!
//! A record may go over several lines; a quote that is never closed would swallow the rest of the file, so a record has
//! a longest length, and the end of the file is marked with a line of our own, which an open quote swallows visibly.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use thiserror::Error;

use super::Kind;
use super::encoding::{self, Encoding, EncodingChoice, Mark};
use super::header::Mapping;
use super::quotes::Strays;

/// The longest record. No value of ours is a thousandth of it.
const LONGEST_RECORD: u64 = 16 * 1024 * 1024;
/// What stands after the end of the file. Its first byte keeps it apart from text.
const END: &[u8] = b"\n\x1aend of file\n";
/// The line of [`END`], as a field.
const END_LINE: &[u8] = b"\x1aend of file";

/// What is wrong with a record whose fields are [`Record::stray`].
pub(super) const STRAY: &str = "has text behind a closing quote; write a quote inside a quoted value twice";

/// How a file is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The character set.
    pub encoding: EncodingChoice,
    /// The byte between fields; a comma when absent.
    pub delimiter: Option<u8>,
    /// Our column names and the file's headers.
    pub map: Vec<(String, String)>,
}

/// Why a file cannot be read at all.
#[derive(Debug, Error)]
pub enum Problem {
    /// The operating system's reason.
    #[error("{path} cannot be read", path = .0.display())]
    Io(PathBuf, #[source] io::Error),
    /// A folder, a pipe or a device: the file is read more than once.
    #[error("{path} is not a regular file; save the data in a file first", path = .0.display())]
    NotAFile(PathBuf),
    /// UTF-16.
    #[error("{path} is in UTF-16, which is not read; save it as “CSV UTF-8” or as CSV in Shift_JIS", path = .0.display())]
    Utf16(PathBuf),
    /// No line at all.
    #[error("{path} is empty; its first line must name the columns", path = .0.display())]
    Empty(PathBuf),
    /// The first line does not say what is needed.
    #[error("{0}")]
    Header(String),
    /// A record above the longest length.
    #[error(
        "the record that begins in line {0} is longer than 16 MiB; a quote is probably opened there and never closed"
    )]
    TooLong(u64),
}

/// One record.
#[derive(Debug, Default)]
pub struct Record {
    /// The line it begins in, from 1.
    pub line: u64,
    /// It goes to the end of the file because a quote is open.
    pub unclosed: bool,
    /// Text stands behind a closing quote: what the field holds is not certain.
    pub stray: bool,
    fields: ByteRecord,
}

impl Record {
    /// How many fields it has.
    pub fn width(&self) -> usize {
        self.fields.len()
    }

    /// A field's bytes.
    pub(super) fn field(&self, place: usize) -> Option<&[u8]> {
        self.fields.get(place)
    }

    fn is_blank(&self) -> bool {
        self.fields.iter().all(|field| field.iter().all(u8::is_ascii_whitespace))
    }
}

/// A file, read to the end and no further than the allowance goes.
struct Source {
    file: File,
    allowance: Arc<AtomicU64>,
    /// How much of [`END`] was given.
    end: usize,
    strays: Strays,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let allowance = self.allowance.load(Ordering::Relaxed);
        if allowance == 0 {
            return Err(io::Error::other("the record is too long"));
        }
        let mut length = self.file.read(buffer)?;
        self.strays.follow(buffer.get(..length).unwrap_or_default());
        if length == 0 {
            length = (&mut END.get(self.end..).unwrap_or_default()).read(buffer)?;
            self.end += length;
        }
        self.allowance.store(allowance.saturating_sub(length as u64), Ordering::Relaxed);
        Ok(length)
    }
}

/// A file whose columns are known.
pub struct Lines {
    path: PathBuf,
    kind: Kind,
    encoding: Encoding,
    mapping: Mapping,
    size: u64,
    reader: Reader<Source>,
    allowance: Arc<AtomicU64>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("path", &self.path).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Lines {
    /// Opens a file and finds its columns.
    ///
    /// # Errors
    /// When it cannot be read, or its first line does not name the columns.
    pub fn open(path: &Path, kind: Kind, options: &Options) -> Result<Self, Problem> {
        let failed = |error| Problem::Io(path.to_owned(), error);
        let mut file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if !about.is_file() {
            return Err(Problem::NotAFile(path.to_owned()));
        }
        let mut begin = Vec::new();
        file.by_ref().take(4).read_to_end(&mut begin).map_err(failed)?;
        let mark = encoding::mark(&begin);
        if mark == Mark::Utf16 {
            return Err(Problem::Utf16(path.to_owned()));
        }
        let encoding = match options.encoding {
            EncodingChoice::Fixed(encoding) => encoding,
            EncodingChoice::Auto if mark == Mark::Utf8 => Encoding::Utf8,
            EncodingChoice::Auto => encoding::detect(|| File::open(path)).map_err(failed)?,
        };
        let text = if mark == Mark::Utf8 { 3 } else { 0 };
        file.seek(SeekFrom::Start(text)).map_err(failed)?;
        let allowance = Arc::new(AtomicU64::new(LONGEST_RECORD));
        let delimiter = options.delimiter.unwrap_or(b',');
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            // Only line feeds end a line; a carriage return before one is outer white space of the last field.
            .terminator(Terminator::Any(b'\n'))
            .buffer_capacity(256 * 1024)
            .from_reader(Source { file, allowance: Arc::clone(&allowance), end: 0, strays: Strays::new(delimiter) });
        let (path, size) = (path.to_owned(), about.len());
        let mut lines = Self { path, kind, encoding, mapping: Mapping::default(), size, reader, allowance };
        let mut record = Record::default();
        if !lines.next(&mut record)? {
            return Err(Problem::Empty(lines.path));
        }
        lines.mapping = lines.header(&record, options)?;
        Ok(lines)
    }

    fn header(&self, record: &Record, options: &Options) -> Result<Mapping, Problem> {
        if record.unclosed {
            return Err(Problem::Header("a quote is opened in the first line and never closed".into()));
        }
        if record.stray {
            return Err(Problem::Header(format!("the first line {STRAY}")));
        }
        let mut headers = Vec::with_capacity(record.width());
        for field in &record.fields {
            let header = self.encoding.decode(field).map_err(|fault| {
                let name = self.encoding.name();
                Problem::Header(format!(
                    "the first line is not {name} ({}); say which it is with --encoding",
                    fault.bytes
                ))
            })?;
            let header = header.trim();
            if header.contains('\r') {
                return Err(Problem::Header("the lines of the file end with CR only; save it with LF or CRLF".into()));
            }
            headers.push(header.to_owned());
        }
        if let [only] = headers.as_slice() {
            for (sign, word) in [('\t', "tab"), (',', ","), (';', "';'")] {
                if only.contains(sign) {
                    return Err(Problem::Header(format!("the first line has only one field; try --delimiter {word}")));
                }
            }
        }
        Mapping::find(self.kind, headers, &options.map).map_err(Problem::Header)
    }

    /// The next record that holds anything; `false` at the end.
    ///
    /// # Errors
    /// When reading fails, or a record is too long.
    pub fn next(&mut self, record: &mut Record) -> Result<bool, Problem> {
        loop {
            let begin = self.reader.position().line();
            self.allowance.store(LONGEST_RECORD, Ordering::Relaxed);
            let more = self.reader.read_byte_record(&mut record.fields).map_err(|error| {
                if self.allowance.load(Ordering::Relaxed) == 0 {
                    return Problem::TooLong(begin);
                }
                Problem::Io(self.path.clone(), error.into())
            })?;
            if !more {
                return Ok(false);
            }
            let last = record.fields.len().checked_sub(1).and_then(|last| record.fields.get(last)).unwrap_or_default();
            let at_end = self.reader.get_ref().end == END.len() && last.ends_with(END_LINE);
            let swallowed = self.reader.get_ref().end == END.len() && last.ends_with(END);
            if at_end && record.fields.len() == 1 && last == END_LINE {
                return Ok(false);
            }
            let inside = record.fields.as_slice().iter().filter(|b| **b == b'\n').count() as u64;
            let ended = self.reader.position().line().saturating_sub(u64::from(!swallowed));
            record.unclosed = swallowed;
            let read = self.reader.position().byte();
            record.stray = self.reader.get_mut().strays.before(read);
            record.line = ended.saturating_sub(inside).max(1);
            if swallowed || !record.is_blank() {
                return Ok(true);
            }
        }
    }

    /// What the file holds.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its character set.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Where its columns are.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// The file's length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many bytes are read.
    pub fn position(&self) -> u64 {
        self.reader.position().byte().min(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(bytes: &[u8], options: &Options) -> Result<Lines, Problem> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.csv");
        std::fs::write(&path, bytes).unwrap();
        Lines::open(&path, Kind::Customers, options)
    }

    /// Line, fields and whether a quote is open, of each record.
    fn records(bytes: &[u8]) -> Vec<(u64, Vec<String>, bool)> {
        let mut lines = open(bytes, &Options::default()).unwrap();
        let (mut found, mut record) = (Vec::new(), Record::default());
        while lines.next(&mut record).unwrap() {
            let fields = record.fields.iter().map(|f| String::from_utf8_lossy(f).trim().to_owned()).collect();
            found.push((record.line, fields, record.unclosed));
        }
        found
    }

    fn expect(records: Vec<(u64, Vec<String>, bool)>, expected: &[(u64, &[&str])]) {
        let found: Vec<(u64, Vec<&str>)> =
            records.iter().map(|(line, fields, _)| (*line, fields.iter().map(String::as_str).collect())).collect();
        let expected: Vec<(u64, Vec<&str>)> = expected.iter().map(|(line, fields)| (*line, fields.to_vec())).collect();
        assert_eq!(found, expected);
    }

    const HEAD: &str = "code_customer,name_customer,department";

    #[test]
    fn records_carry_the_line_they_begin_in_whatever_ends_the_lines() {
        for end in ["\n", "\r\n"] {
            for last in ["", end, &format!("{end}{end},,{end}")] {
                let file = [HEAD, "1,a,x", "", "2,\"b", "b\",x", ",,", "3,\"c\",x"].join(end) + last;
                let found = records(file.as_bytes());
                let b = format!("b{end}b");
                expect(found, &[(2, &["1", "a", "x"]), (4, &["2", &b, "x"]), (7, &["3", "c", "x"])]);
            }
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_header() {
        let file = format!("\u{feff}{HEAD}\n1,a,x\n");
        expect(records(file.as_bytes()), &[(2, &["1", "a", "x"])]);
        assert!(matches!(open(b"\xff\xfec\0", &Options::default()), Err(Problem::Utf16(_))));
    }

    #[test]
    fn a_quote_that_is_never_closed_is_seen() {
        let found = records(format!("{HEAD}\n1,a,x\n2,\"b,x\n3,c,x\n").as_bytes());
        assert_eq!(found.iter().map(|(line, _, open)| (*line, *open)).collect::<Vec<_>>(), [(2, false), (3, true)]);
        for closed in ["2,b,\"x\n\"", "2,b,\"x\"\n", "2,b,x\"", "2,b,\"\"\"x\"\"\""] {
            let found = records(format!("{HEAD}\n{closed}").as_bytes());
            assert_eq!(found.iter().map(|(_, _, open)| *open).collect::<Vec<_>>(), [false], "{closed}");
        }
        let error = open(b"code_customer,\"name\n1,a\n", &Options::default()).unwrap_err();
        assert!(error.to_string().contains("never closed"), "{error}");
    }

    #[test]
    fn text_behind_a_closing_quote_is_seen_in_its_record_and_only_there() {
        let mut bad = 0;
        for (line, stray) in [
            (r#"1,"5" x 3" board",x"#, true),
            (r#"1,"kabocha"4,x"#, true),
            (r#"1,a,"x"x"#, true),
            (r#"1,"a" "b",x"#, true),
            (r#"1,"a""b","x""#, false),
            (r#"1,5" board,x"#, false),
            (r#"1,"" ,"x"	"#, false),
            ("1,\"\",\"x\"\r", false),
            ("1,\"a\n\"\"b\"\"\",x", false),
            (r#"1,"""a""",x"#, false),
        ] {
            let many = format!("2,{},x\n", "b".repeat(99)).repeat(4_000);
            let mut lines = open(format!("{HEAD}\n{many}{line}\n{many}").as_bytes(), &Options::default()).unwrap();
            let (mut record, mut found) = (Record::default(), Vec::new());
            while lines.next(&mut record).unwrap() {
                if record.stray {
                    found.push(record.line);
                }
            }
            bad += found.len();
            assert_eq!(found, if stray { vec![4_002] } else { vec![] }, "{line:?}");
        }
        assert_eq!(bad, 4);
        let error = open(b"code_customer,\"name\"x\n", &Options::default()).unwrap_err();
        assert!(error.to_string().contains("behind a closing quote"), "{error}");
    }

    #[test]
    fn a_record_without_end_stops_the_reading_and_says_where() {
        let file = [HEAD.as_bytes(), b"\n1,a,x\n2,\"", &vec![b'b'; 20 * 1024 * 1024]].concat();
        let mut lines = open(&file, &Options::default()).unwrap();
        let mut record = Record::default();
        assert!(lines.next(&mut record).unwrap());
        let error = lines.next(&mut record).unwrap_err();
        assert!(matches!(error, Problem::TooLong(3)), "{error:?}");
        let ten = [HEAD.as_bytes(), b"\n1,", &vec![b'b'; 10 * 1024 * 1024], b",x\n2,b,x\n"].concat();
        assert_eq!(records(&ten).len(), 2, "a long field is a bad line, not the end of the file");
    }

    #[test]
    fn what_is_no_such_file_is_refused_with_what_to_do() {
        let said = |bytes: &[u8]| open(bytes, &Options::default()).unwrap_err().to_string();
        assert!(said(b"").contains("must name the columns"));
        assert!(said(b"\n \n").contains("must name the columns"));
        assert!(said(b"code_customer\tname_customer\n").contains("--delimiter tab"));
        assert!(said(b"code_customer,name_customer\r1,a\r").contains("CR only"));
        assert!(said(b"a,b\n").contains("“a”, “b”"));
        let options = Options { encoding: EncodingChoice::Fixed(Encoding::Utf8), ..Options::default() };
        let error = open(b"\x93\xbe\x88\xd3\x90\xe6,b\n", &options).unwrap_err();
        assert!(error.to_string().contains("--encoding"), "{error}");
        let dir = tempfile::tempdir().unwrap();
        let folder = Lines::open(dir.path(), Kind::Sales, &Options::default()).unwrap_err();
        assert!(matches!(folder, Problem::NotAFile(_)));
    }
}
