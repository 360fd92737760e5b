//! Lines become rows, or faults that say where, what and how to put it right.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use chrono::NaiveDate;

use super::Kind;
use super::encoding::Encoding;
use super::fields::{self, Reason};
use super::header::Mapping;
use super::lines::{Lines, Record, STRAY};
use crate::domain::{Person, Role};
use crate::sales::search_form;
use crate::staff::Staff;

/// First letters of the ids of workspaces and organisations, and an example.
pub(super) const TEAM: (&[char], &str) = (&['T', 'E'], "T0123ABCD");
/// The same of people.
pub(super) const USER: (&[char], &str) = (&['U', 'W'], "U0123ABCD");

/// How much of a value a report shows.
const SHOWN: usize = 40;
/// What stands for the person where a file names none of the staff.
const NOBODY: &str = "import";
/// How many names are remembered, so that a column of anything does not fill the memory.
const NAMES: usize = 10_000;

/// A customer of a file. What the file has no column for stays as it is in the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Customer {
    /// Its line.
    pub line: u64,
    /// The key.
    pub code: String,
    /// The name.
    pub name: String,
    /// The address.
    pub address: Option<String>,
    /// The telephone number.
    pub phone: Option<String>,
    /// Whose customer it is.
    pub department: String,
}

/// A member of staff of a file. What the file has no column for stays as it is in the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaffRow {
    /// Its line.
    pub line: u64,
    /// The Slack person.
    pub person: Person,
    /// What colleagues call them.
    pub display_name: Option<String>,
    /// What they may do.
    pub role: Role,
    /// Whose rows they see.
    pub departments: Vec<String>,
    /// Whether they have rights.
    pub active: Option<bool>,
}

/// A sale of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sale {
    /// Its line.
    pub line: u64,
    /// The key.
    pub code: String,
    /// Who bought.
    pub customer: String,
    /// Whose customer that is.
    pub department: Arc<str>,
    /// When.
    pub date: NaiveDate,
    /// What.
    pub products: String,
    /// For how much, in yen.
    pub price: i64,
    /// `slack:TEAM:USER`, or `import`.
    pub registered_by: String,
}

/// Rows of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Customers.
    Customers(Vec<Customer>),
    /// Staff.
    Staff(Vec<StaffRow>),
    /// Sales.
    Sales(Vec<Sale>),
}

impl Rows {
    /// None yet.
    pub fn none(kind: Kind) -> Self {
        match kind {
            Kind::Customers => Self::Customers(Vec::new()),
            Kind::Staff => Self::Staff(Vec::new()),
            Kind::Sales => Self::Sales(Vec::new()),
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Customers(rows) => rows.len(),
            Self::Staff(rows) => rows.len(),
            Self::Sales(rows) => rows.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why a line is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: u64,
    /// The column as the file calls it; empty when the whole line is meant.
    pub column: String,
    /// The beginning of the value.
    pub value: String,
    /// What is wrong and what to do.
    pub reason: String,
}

impl Fault {
    pub(super) fn new(line: u64, column: impl Into<String>, value: &str, reason: impl Into<String>) -> Self {
        let mut shown: String = value.trim().chars().take(SHOWN).collect();
        if value.trim().chars().nth(SHOWN).is_some() {
            shown.push('…');
        }
        Self { line, column: column.into(), value: shown, reason: reason.into() }
    }
}

/// What some lines gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Lines read, bad ones included.
    pub lines: u64,
    /// Lines with at least one fault.
    pub bad: u64,
    /// The good ones.
    pub rows: Rows,
    /// What is wrong with the others.
    pub faults: Vec<Fault>,
    /// Sales whose person is not one of the staff.
    pub strangers: u64,
}

impl Batch {
    /// Nothing yet.
    pub fn none(kind: Kind) -> Self {
        Self { lines: 0, bad: 0, rows: Rows::none(kind), faults: Vec::new(), strangers: 0 }
    }
}

/// Whom a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Who {
    /// The person's subject.
    One(String),
    /// More than one of the staff have it.
    Several,
    /// None of the staff has it.
    Nobody,
}

/// What lines are checked against.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The departments by the customers' codes.
    customers: HashMap<String, Arc<str>>,
    /// By subject, and by the comparable form of the name.
    people: HashMap<String, Who>,
}

impl Known {
    /// The customers' codes with their departments, and the staff, as the records have them.
    pub fn new(customers: HashMap<String, Arc<str>>, staff: &[Staff]) -> Self {
        let mut people: HashMap<String, Who> = HashMap::new();
        for person in staff {
            let subject = person.person.subject();
            people.insert(subject.clone(), Who::One(subject.clone()));
            let name = search_form(&person.display_name);
            people.entry(name).and_modify(|who| *who = Who::Several).or_insert(Who::One(subject));
        }
        Self { customers, people }
    }
}

/// Checks lines one after the other.
#[derive(Debug)]
pub struct Checker {
    kind: Kind,
    encoding: Encoding,
    mapping: Mapping,
    known: Known,
    /// Keys seen, and where: of the whole file, for sales of the current batch (the store finds the others).
    seen: HashMap<String, u64>,
    /// The last date, since sales of one day follow each other.
    day: Option<(String, NaiveDate)>,
    /// What names were found to mean.
    names: HashMap<String, Who>,
}

/// The faults of one line.
struct Line<'a> {
    checker: &'a Checker,
    record: &'a Record,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Line<'a> {
    fn fault(&mut self, column: usize, value: &str, reason: impl Into<String>) {
        let header = self.checker.mapping.header(self.checker.kind, column);
        self.faults.push(Fault::new(self.record.line, header, value, reason));
    }

    /// The text of a column; `None` when the file has no such column or the bytes are no text, which is a fault.
    fn raw(&mut self, column: usize) -> Option<Cow<'a, str>> {
        let bytes = self.record.field(self.checker.mapping.place(column)?)?;
        match self.checker.encoding.decode(bytes) {
            Ok(text) => Some(text),
            Err(undecodable) => {
                let encoding = self.checker.encoding.name();
                let reason = format!(
                    "byte {} of the value ({}) is no {encoding}; write the value anew, or say the file's --encoding",
                    undecodable.at, undecodable.bytes
                );
                self.fault(column, &String::from_utf8_lossy(bytes), reason);
                None
            }
        }
    }

    fn read<T>(&mut self, column: usize, read: impl FnOnce(&str) -> Result<T, Reason>) -> Option<T> {
        let text = self.raw(column)?;
        match read(&text) {
            Ok(value) => Some(value),
            Err(reason) => {
                self.fault(column, &text, reason);
                None
            }
        }
    }

    /// As [`Line::read`], but an empty value counts as given and empty.
    fn read_or_empty(&mut self, column: usize, read: impl FnOnce(&str) -> Result<String, Reason>) -> Option<String> {
        self.read(column, |text| if text.trim().is_empty() { Ok(String::new()) } else { read(text) })
    }
}

fn owned(longest: usize, lines: bool) -> impl FnOnce(&str) -> Result<String, Reason> {
    move |value| fields::text(value, longest, lines).map(Cow::into_owned)
}

fn code(value: &str) -> Result<String, Reason> {
    fields::code(value).map(Cow::into_owned)
}

impl Checker {
    /// For the lines of a file.
    pub fn new(lines: &Lines, known: Known) -> Self {
        Self {
            kind: lines.kind(),
            encoding: lines.encoding(),
            mapping: lines.mapping().clone(),
            known,
            seen: HashMap::new(),
            day: None,
            names: HashMap::new(),
        }
    }

    /// A batch ends: what was seen in it the store knows from now on.
    pub fn end_batch(&mut self) {
        if self.kind == Kind::Sales {
            self.seen.clear();
        }
    }

    /// What the file calls a column.
    pub fn header(&self, name: &str) -> String {
        let column = self.kind.columns().iter().position(|c| c.name == name);
        column.map_or_else(|| name.to_owned(), |column| self.mapping.header(self.kind, column))
    }

    /// Adds a line to a batch, as a row or as faults.
    pub fn check(&mut self, record: &Record, batch: &mut Batch) {
        batch.lines += 1;
        let before = batch.faults.len();
        if record.unclosed {
            let reason = "a quote is opened in this line and never closed; close it, or remove it";
            batch.faults.push(Fault::new(record.line, "", "", reason));
        } else if record.stray {
            batch.faults.push(Fault::new(record.line, "", "", STRAY));
        } else if record.width() != self.mapping.width() {
            let reason = format!(
                "has {} fields instead of {}; put values that hold the separator into quotes",
                record.width(),
                self.mapping.width()
            );
            batch.faults.push(Fault::new(record.line, "", "", reason));
        } else {
            let (line, faults) = (record.line, &mut batch.faults);
            match &mut batch.rows {
                Rows::Customers(rows) => {
                    let row = self.customer(record, faults);
                    rows.extend(row.filter(|row| self.first(line, 0, row.code.clone(), &row.code, faults)));
                }
                Rows::Staff(rows) => {
                    let row = self.staff(record, faults);
                    rows.extend(
                        row.filter(|row| self.first(line, 1, row.person.subject(), row.person.user.as_str(), faults)),
                    );
                }
                Rows::Sales(rows) => {
                    let row = self.sale(record, faults, &mut batch.strangers);
                    rows.extend(row.filter(|row| self.first(line, 0, row.code.clone(), &row.code, faults)));
                }
            }
        }
        batch.bad += u64::from(batch.faults.len() > before);
    }

    /// Whether a key is new in the file.
    fn first(&mut self, line: u64, column: usize, key: String, shown: &str, faults: &mut Vec<Fault>) -> bool {
        match self.seen.get(&key) {
            None => {
                self.seen.insert(key, line);
                true
            }
            Some(first) => {
                let reason = format!("is in line {first} of this file already; keep one of the two lines");
                faults.push(Fault::new(line, self.mapping.header(self.kind, column), shown, reason));
                false
            }
        }
    }

    fn customer(&self, record: &Record, faults: &mut Vec<Fault>) -> Option<Customer> {
        let before = faults.len();
        let mut line = Line { checker: self, record, faults };
        let code = line.read(0, code);
        let name = line.read(1, owned(200, false));
        let address = line.read_or_empty(2, owned(500, true));
        let phone = line.read_or_empty(3, owned(50, false));
        let department = line.read(4, |value| match value.trim() {
            "*" => Err("stands for all departments; write the customer's own".into()),
            _ => owned(100, false)(value),
        });
        if faults.len() > before {
            return None;
        }
        Some(Customer { line: record.line, code: code?, name: name?, address, phone, department: department? })
    }

    fn staff(&self, record: &Record, faults: &mut Vec<Fault>) -> Option<StaffRow> {
        let before = faults.len();
        let mut line = Line { checker: self, record, faults };
        let id = |first: &'static [char], example: &'static str| {
            move |value: &str| fields::slack_id(value, first, example).map(str::to_owned)
        };
        let team = line.read(0, id(TEAM.0, TEAM.1));
        let user = line.read(1, id(USER.0, USER.1));
        let display_name = line.read_or_empty(2, owned(200, false)).filter(|name| !name.is_empty());
        let role = line.read(3, fields::role);
        let departments = line.read(4, fields::departments);
        let active = line.read(5, |text| match text.trim() {
            "" => Ok(None),
            text => fields::active(text).map(Some),
        });
        if faults.len() > before {
            return None;
        }
        Some(StaffRow {
            line: record.line,
            person: Person::new(team?, user?),
            display_name,
            role: role?,
            departments: departments?,
            active: active.flatten(),
        })
    }

    fn sale(&mut self, record: &Record, faults: &mut Vec<Fault>, strangers: &mut u64) -> Option<Sale> {
        let before = faults.len();
        // Both are taken out while the line is read, and put back.
        let (day, mut names) = (self.day.take(), std::mem::take(&mut self.names));
        let mut line = Line { checker: self, record, faults };
        let sales_code = line.read(0, code);
        let customer = line.read(1, |value| self.customer_code(value));
        let date = line.raw(2).and_then(|text| match day {
            Some((same, date)) if same == text => Some((same, date)),
            _ => match fields::date(&text) {
                Ok(date) => Some((text.into_owned(), date)),
                Err(reason) => {
                    line.fault(2, &text, reason);
                    None
                }
            },
        });
        let products = line.read(3, owned(1000, true));
        let price = line.read(4, fields::amount);
        let mut registered_by = NOBODY.to_owned();
        let person = line.raw(5);
        if let Some(name) = person.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
            let who = names.get(name).cloned().unwrap_or_else(|| {
                let who = self.person(name);
                if names.len() < NAMES {
                    names.insert(name.to_owned(), who.clone());
                }
                who
            });
            match who {
                Who::One(subject) => registered_by = subject,
                Who::Nobody => *strangers += 1,
                Who::Several => {
                    line.fault(5, name, "is the name of more than one of the staff; write slack:TEAM:USER instead");
                }
            }
        }
        let bad = line.faults.len() > before;
        let day = date.as_ref().map(|(_, date)| *date);
        (self.day, self.names) = (date, names);
        if bad {
            return None;
        }
        let customer = customer?;
        Some(Sale {
            line: record.line,
            code: sales_code?,
            customer: customer.0,
            department: customer.1,
            date: day?,
            products: products?,
            price: price?,
            registered_by,
        })
    }

    fn person(&self, name: &str) -> Who {
        match self.known.people.get(name).or_else(|| self.known.people.get(&search_form(name))) {
            Some(who) => who.clone(),
            None => Who::Nobody,
        }
    }

    fn customer_code(&self, value: &str) -> Result<(String, Arc<str>), Reason> {
        let code = fields::code(value)?;
        if let Some(department) = self.known.customers.get(code.as_ref()) {
            return Ok((code.into_owned(), Arc::clone(department)));
        }
        // A spreadsheet that takes codes for numbers drops the zeros in front.
        let digits = code.bytes().all(|b| b.is_ascii_digit());
        let padded = (code.len() + 1..=12).map(|width| format!("{code:0>width$}"));
        match padded.into_iter().find(|p| digits && self.known.customers.contains_key(p)) {
            Some(padded) => Err(format!(
                "is no customer's code, but {padded} is; the zeros in front were probably lost in a spreadsheet"
            )
            .into()),
            None => Err("is no customer's code; import the customer first".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Options;
    use super::*;

    fn known() -> Known {
        let person = |user: &str, name: &str| Staff {
            person: Person::new("T1", user),
            display_name: name.into(),
            role: Role::Sales,
            departments: vec!["野菜".into()],
            active: true,
        };
        let staff = [person("U1", "青木 さゆり"), person("U2", "森 太郎"), person("U3", "森太郎")];
        Known::new(["0001", "0016", "A-1"].map(|code| (code.to_owned(), "野菜".into())).into(), &staff)
    }

    fn checked(kind: Kind, file: &str) -> Batch {
        checked_bytes(kind, file.as_bytes(), &Options::default())
    }

    fn checked_bytes(kind: Kind, file: &[u8], options: &Options) -> Batch {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.csv");
        std::fs::write(&path, file).unwrap();
        let mut lines = Lines::open(&path, kind, options).unwrap();
        let (mut checker, mut record) = (Checker::new(&lines, known()), Record::default());
        let mut batch = Batch::none(kind);
        while lines.next(&mut record).unwrap() {
            checker.check(&record, &mut batch);
        }
        batch
    }

    fn faults(batch: &Batch) -> Vec<String> {
        batch.faults.iter().map(|f| format!("{} {} [{}] {}", f.line, f.column, f.value, f.reason)).collect()
    }

    const SALES: &str = "伝票番号,得意先コード,売上日,品名,金額,担当者\n";

    #[test]
    fn a_good_line_becomes_a_row() {
        let batch =
            checked(Kind::Sales, &format!("{SALES}S-1,0016,令和8年11月3日,\"かぼちゃ\n4個\",\"¥1,800\",青木さゆり\n"));
        assert_eq!(faults(&batch), [""; 0]);
        let expected = Sale {
            line: 2,
            code: "S-1".into(),
            customer: "0016".into(),
            department: "野菜".into(),
            date: NaiveDate::from_ymd_opt(2026, 11, 3).unwrap(),
            products: "かぼちゃ\n4個".into(),
            price: 1800,
            registered_by: "slack:T1:U1".into(),
        };
        assert_eq!(batch.rows, Rows::Sales(vec![expected]));
    }

    #[test]
    fn each_fault_of_a_line_is_reported_in_its_column() {
        let lines = "S-1,9,11/3,,-5,森太郎\nS-2,16,2026-11-03,なす,600\nS-3,0016,2026-11-03,なす,600,見知らぬ人\n";
        let batch = checked(Kind::Sales, &format!("{SALES}{lines}"));
        assert_eq!(
            faults(&batch),
            [
                "2 得意先コード [9] is no customer's code; import the customer first",
                "2 売上日 [11/3] is not a date with a whole year; write it as 2026-11-03 or 2026/11/3",
                "2 品名 [] the value is missing",
                "2 金額 [-5] is negative, and a sale cannot be; leave the line out and cancel the sale that it corrects",
                "2 担当者 [森太郎] is the name of more than one of the staff; write slack:TEAM:USER instead",
                "3  [] has 5 fields instead of 6; put values that hold the separator into quotes",
            ]
        );
        assert_eq!((batch.lines, batch.bad, batch.rows.len(), batch.strangers), (3, 2, 1, 1));
    }

    #[test]
    fn zeros_lost_in_a_spreadsheet_are_recognised() {
        let batch = checked(Kind::Sales, &format!("{SALES}S-1,16,2026-11-03,なす,600,\n"));
        assert!(faults(&batch)[0].contains("but 0016 is"), "{:?}", faults(&batch));
    }

    #[test]
    fn a_key_may_stand_in_a_file_once() {
        let batch = checked(Kind::Customers, "code_customer,name_customer,department\n1,a,x\n2,b,x\n1,a,x\n");
        assert_eq!(
            faults(&batch),
            ["4 code_customer [1] is in line 2 of this file already; keep one of the two lines"]
        );
        let batch = checked(
            Kind::Staff,
            "team,user,role,departments\nT12,U12,sales,野菜\nT13,U12,sales,野菜\nT12,U12,viewer,野菜\n",
        );
        assert_eq!((batch.rows.len(), batch.bad), (2, 1));
    }

    #[test]
    fn what_the_file_has_no_column_for_is_told_apart_from_what_is_empty() {
        let Rows::Customers(rows) =
            checked(Kind::Customers, "code_customer,name_customer,department,phone\n1,a,x,\n").rows
        else {
            unreachable!()
        };
        assert_eq!((rows[0].phone.as_deref(), rows[0].address.as_deref()), (Some(""), None));
    }

    #[test]
    fn bytes_of_no_character_are_a_fault_of_their_line_only() {
        let file =
            [&b"code_customer,name_customer,department\n1,\xff\xfe,x\n2,"[..], "青".as_bytes(), b",x\n"].concat();
        let batch = checked_bytes(Kind::Customers, &file, &Options::default());
        assert_eq!(batch.rows.len(), 1);
        assert!(faults(&batch)[0].contains("byte 1 of the value (0xFF) is no UTF-8"), "{:?}", faults(&batch));
    }

    #[test]
    fn long_values_are_shortened_in_a_report() {
        let batch = checked(Kind::Sales, &format!("{SALES}S-1,0016,2026-11-03,{},600,\n", "な".repeat(1001)));
        assert_eq!(batch.faults[0].value.chars().count(), SHOWN + 1);
    }
}
