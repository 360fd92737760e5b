//! The report of bad lines: a CSV file that a spreadsheet opens, readable by its owner only, since it repeats values.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::rows::Fault;

/// How many faults are kept for the terminal; the file has all.
const SHOWN: usize = 20;

/// Where faults go.
#[derive(Debug, Default)]
pub struct Report {
    file: Option<csv::Writer<File>>,
    first: Vec<Fault>,
    count: u64,
}

impl Report {
    /// Into a file, too, if one is named: a new one, since a slip of the hand could name the file that is loaded.
    ///
    /// # Errors
    /// When the file is there already, or cannot be written.
    pub fn new(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        // Without the mark a spreadsheet takes UTF-8 for the system's old character set.
        file.write_all("\u{feff}".as_bytes())?;
        let mut writer = csv::Writer::from_writer(file);
        writer.write_record(["line", "column", "value", "reason"])?;
        Ok(Self { file: Some(writer), ..Self::default() })
    }

    /// Adds a fault.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, fault: Fault) -> io::Result<()> {
        self.count += 1;
        if let Some(file) = &mut self.file {
            let line = fault.line.to_string();
            file.write_record([&line, &plain(&fault.column), &plain(&fault.value), &fault.reason])?;
        }
        if self.first.len() < SHOWN {
            self.first.push(fault);
        }
        Ok(())
    }

    /// The file is complete.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), csv::Writer::flush)
    }

    /// The first faults.
    pub fn first(&self) -> &[Fault] {
        &self.first
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// A spreadsheet carries out what begins like a formula.
fn plain(value: &str) -> String {
    if value.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{value}") } else { value.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_report_opens_in_a_spreadsheet_and_runs_nothing_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bad.csv");
        let mut report = Report::new(Some(&path)).unwrap();
        for line in 1..=30 {
            report.add(Fault::new(line, "品名", "=cmd,\"x\"", "a reason")).unwrap();
        }
        report.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("\u{feff}line,column,value,reason\n1,品名,\"'=cmd,\"\"x\"\"\",a reason\n"), "{text}");
        assert_eq!((text.lines().count(), report.first().len(), report.count()), (31, 20, 30));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
