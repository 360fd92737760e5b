//! The file that keeps a workspace's messages: one JSON object on each line, only ever appended to.
//!
//! A line is written before its change is visible to anyone. The file is not synced: it survives the death of the
//! process, not of the machine, which is enough for a try-out. A last line cut short by a kill is dropped on opening.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::world::Change;

#[derive(Debug)]
pub(super) struct Journal {
    file: File,
}

impl Journal {
    /// Opens or creates the file and reads what it holds.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Vec<Change>)> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut changes = Vec::new();
        let mut kept = 0;
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            let whole = line.ends_with(b"\n");
            match serde_json::from_slice(line) {
                Ok(change) if whole => {
                    changes.push(change);
                    kept += line.len();
                }
                Ok(_) => break,
                Err(_) if !whole => break,
                Err(e) => return Err(io::Error::new(io::ErrorKind::InvalidData, e)),
            }
        }
        let kept = u64::try_from(kept).unwrap_or(u64::MAX);
        file.set_len(kept)?;
        file.seek(SeekFrom::Start(kept))?;
        Ok((Self { file }, changes))
    }

    /// Adds a line, in one write.
    pub(super) fn append(&mut self, change: &Change) -> io::Result<()> {
        let mut line = serde_json::to_vec(change)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::UserId;

    #[test]
    fn a_line_cut_short_is_dropped_and_the_file_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("workspace.jsonl");
        let change = |n: u32| Change::Home { user: UserId::new("U1"), view: n.into() };
        let (mut journal, read) = Journal::open(&path).unwrap();
        assert!(read.is_empty());
        journal.append(&change(1)).unwrap();
        journal.append(&change(2)).unwrap();
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();

        let (mut journal, read) = Journal::open(&path).unwrap();
        assert_eq!(read, [change(1)]);
        journal.append(&change(3)).unwrap();
        drop(journal);
        let (_, read) = Journal::open(&path).unwrap();
        assert_eq!(read, [change(1), change(3)]);
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_an_error_and_nothing_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("workspace.jsonl");
        std::fs::write(&path, "not json\n{}\n").unwrap();
        assert!(Journal::open(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "not json\n{}\n");
    }
}
