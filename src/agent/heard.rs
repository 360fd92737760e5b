//! What the asker's own words say of days, periods and amounts, read by code, and how a model's call compares.
//!
//! Promises: the same words on the same day give the same verdict. A call is objected to only when the words of this
//! turn name a day, a period or an amount that no call has taken up, and the call names another; what the words leave
//! open is never an objection. Nothing here decides what is written: it tells the model once, and the person always.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use chrono::{Datelike, NaiveDate};
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

use crate::domain::{Days, Ground, Grounds, TaxNote, ToolCall, Write, Yen};
use crate::reading::{self, Amount, Context, Findings, Found, Meaning, Quantity, Reading, Refusal, Tax};

use super::{Asker, Item};

/// The code of the result that holds a call back.
pub(super) const DIFFERS: &str = "words_differ";
/// Earlier messages of the asker that are looked at for words this turn does not have.
const EARLIER: usize = 6;
/// The longest words that are quoted, in characters.
const QUOTED: usize = 40;
/// Amounts and quantities that are tried together at most.
const MANY: usize = 4;
/// Words named at most where the first few say enough.
const NAMED: usize = 3;
/// Findings looked at at most.
const LOOKED_AT: usize = 200;
/// Findings told to the model at most; a pasted table is no request.
const HINTS: usize = 12;

/// The days and amounts of a turn's words.
#[derive(Clone, Debug)]
pub struct Heard {
    today: NaiveDate,
    /// What the asker wrote in this turn.
    now: Findings,
    /// What the asker wrote before in the conversation, the newest message first.
    before: Findings,
    /// Numbers of all those messages that code can say nothing of: 「かぼちゃ4個 600」.
    bare: BTreeSet<i64>,
}

/// The words that a call's period came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// The words as written, each once.
    pub words: Vec<String>,
    /// What they say, when the call's period is not it; nothing when they are no valid day.
    pub instead: Option<Vec<Reading>>,
    /// The call's period is only a part of theirs.
    pub is_part: bool,
}

impl Heard {
    /// Reads the asker's words in `turn`, said today or on `day`, and `earlier`: what was written before in the
    /// conversation on this same day, the newest first.
    pub fn of(asker: &Asker, turn: &[Item], day: Option<NaiveDate>, earlier: &[Item]) -> Self {
        let now_on = day.unwrap_or(asker.today);
        let mut bare = BTreeSet::new();
        let mut read = |today: NaiveDate, texts: &mut dyn Iterator<Item = &str>| {
            let context = Context { fiscal_start: asker.fiscal_start, ..Context::on(today) };
            let mut all = Findings::default();
            for text in texts {
                let found = reading::read(text, &context);
                bare.extend(bare_numbers(text, &found));
                all.dates.extend(found.dates);
                all.amounts.extend(found.amounts);
                all.quantities.extend(found.quantities);
            }
            all
        };
        let now = read(now_on, &mut turn.iter().filter_map(|item| said_by(asker, item)));
        let before = read(asker.today, &mut earlier.iter().filter_map(|item| said_by(asker, item)).take(EARLIER));
        Self { today: asker.today, now, before, bare }
    }

    /// What was read, for the model; `None` when there is nothing.
    pub fn hints(&self) -> Option<String> {
        let dates = self.now.dates.iter().map(|found| format!("“{}” {}", quoted(&found.words), told(found)));
        let amounts = self.now.amounts.iter().map(|found| format!("“{}” {}", quoted(&found.words), told_amount(found)));
        let all = once(dates.chain(amounts), HINTS);
        (!all.is_empty()).then(|| format!("Read by code from the asker's message: {}.", all.join("; ")))
    }

    /// Which of this turn's days and periods a call takes up.
    pub(super) fn met(&self, call: &ToolCall) -> BTreeSet<usize> {
        match asked_days(call, self.today) {
            Some(Asked::Period(begin, end)) => meeting(&self.now.dates, begin, end, self.today).0,
            Some(Asked::Day(day)) => day_ground(&self.now.dates, day).into_iter().map(|(at, _)| at).collect(),
            None => BTreeSet::new(),
        }
    }

    /// Why a call does not fit the words, for the model; `met` are the days and periods that calls have taken up.
    pub(super) fn objection(&self, call: &ToolCall, met: &BTreeSet<usize>) -> Option<String> {
        let days = self.asked(call).and_then(|asked| self.unfit(asked, met)).map(|found| ("date", found));
        let mut faults: Vec<String> = days
            .iter()
            .map(|(what, found)| format!("this {what}: “{}” {}", quoted(&found.words), told(found)))
            .collect();
        if let Some(price) = asked_price(call)
            && matches!(self.price_ground(price), Some(Ground::Differs { .. } | Ground::Refused { .. }))
        {
            let said = self.now.amounts.iter().map(|a| format!("“{}” {}", quoted(&a.words), told_amount(a)));
            faults.push(format!("this price: {}", once(said, NAMED).join("; ")));
        }
        (!faults.is_empty()).then(|| {
            format!(
                "Not run: the asker's words do not say {}. Call again with what the words say. If something else is meant \
                 on purpose, make the same call again.",
                faults.join(", nor ")
            )
        })
    }

    /// What a call says of time. A read without any period counts as one where the message asks for a period and, having no
    /// amount in it, registers nothing: before a registration a model may rightly look at everything.
    fn asked(&self, call: &ToolCall) -> Option<Asked> {
        let open = matches!(call.name.as_str(), "get_sales" | "list_registrations")
            && !call.arguments.get("code_sales").is_some_and(Value::is_string)
            && self.now.amounts.is_empty();
        asked_days(call, self.today).or_else(|| open.then_some(Asked::Period(None, None)))
    }

    /// The first words that the call should have taken up and that no call did.
    fn unfit(&self, asked: Asked, met: &BTreeSet<usize>) -> Option<&Found> {
        let fits = match asked {
            Asked::Period(begin, end) => !meeting(&self.now.dates, begin, end, self.today).0.is_empty(),
            Asked::Day(day) => day_ground(&self.now.dates, day).is_some(),
        };
        if fits {
            return None;
        }
        let open = |(at, found): &(usize, &Found)| {
            // A sale is asked for on a day; a period beside it is usually another part of the request.
            let other = matches!(asked, Asked::Day(day) if day == self.today && !names_a_day(found));
            !met.contains(at) && !other
        };
        self.now.dates.iter().enumerate().find(open).map(|(_, found)| found)
    }

    /// Where the values of a write came from.
    pub(super) fn grounds(&self, write: &Write, met: &BTreeSet<usize>) -> Grounds {
        let Write::AddSale { price, date_sales, .. } = write else { return Grounds::default() };
        let tax = self.now.amounts.iter().find(|a| a.meaning.readings().contains(price)).and_then(|a| a.tax);
        Grounds {
            date: Some(self.date_ground(*date_sales, met)),
            price: self.price_ground(*price),
            tax: tax.map(|tax| match tax {
                Tax::Included => TaxNote::Included,
                Tax::Excluded => TaxNote::Excluded,
            }),
        }
    }

    fn date_ground(&self, day: NaiveDate, met: &BTreeSet<usize>) -> Ground<Days> {
        match day_ground(&self.now.dates, day) {
            // A period with today in it usually belongs to another part of the request.
            Some((_, Ground::Part { .. })) if day == self.today => return Ground::Default { not: None },
            Some((_, ground)) => return ground,
            None => {}
        }
        if let Some(found) = self.unfit(Asked::Day(day), met) {
            let words = quoted(&found.words);
            return match &found.meaning {
                Meaning::Refused(_) => Ground::Refused { words },
                meaning => Ground::Differs { words, says: meaning.readings().iter().map(|r| days(*r)).collect() },
            };
        }
        match day_ground(&self.before.dates, day) {
            Some((_, ground)) if day != self.today => ground,
            Some((_, Ground::Words { .. })) => Ground::Default { not: None },
            _ if day == self.today => {
                let said =
                    self.before.dates.iter().find(|found| names_a_day(found) && !found.meaning.readings().is_empty());
                Ground::Default { not: said.map(|found| quoted(&found.words)) }
            }
            _ => Ground::Unsaid,
        }
    }

    /// `None` when the words say the price as it is, digit by digit: there is nothing to explain.
    fn price_ground(&self, price: Yen) -> Option<Ground<Yen>> {
        for said in [&self.now, &self.before] {
            if let Some(amount) = said.amounts.iter().find(|a| a.meaning.readings().contains(&price)) {
                let also: Vec<Yen> = amount.meaning.readings().iter().copied().filter(|y| *y != price).collect();
                let plain = also.is_empty() && digits(&amount.words) == price.0.to_string();
                return (!plain).then(|| Ground::Words { words: quoted(&amount.words), also });
            }
            if let Some(words) = worked_out(said, price) {
                return Some(Ground::Words { words, also: Vec::new() });
            }
        }
        if self.bare.contains(&price.0) {
            return None;
        }
        let Some(first) = self.now.amounts.first() else { return Some(Ground::Unsaid) };
        let valid: Vec<&Amount> = self.now.amounts.iter().filter(|a| !a.meaning.readings().is_empty()).collect();
        if valid.is_empty() {
            return Some(Ground::Refused { words: quoted(&first.words) });
        }
        let words = once(valid.iter().map(|a| quoted(&a.words)), NAMED).join("・");
        let says = valid.iter().take(NAMED).flat_map(|a| a.meaning.readings().iter().copied()).collect();
        Some(Ground::Differs { words, says })
    }

    /// The words of this turn that a read's period came from, or that it should have come from.
    pub(super) fn spoken(&self, call: &ToolCall, met: &BTreeSet<usize>) -> Option<Spoken> {
        let asked = self.asked(call)?;
        let Asked::Period(begin, end) = asked else { return None };
        let (fitting, is_part) = meeting(&self.now.dates, begin, end, self.today);
        if fitting.is_empty() {
            let found = self.unfit(asked, met)?;
            let instead = Some(found.meaning.readings().to_vec());
            return Some(Spoken { words: vec![quoted(&found.words)], instead, is_part: false });
        }
        let words = fitting.iter().filter_map(|at| self.now.dates.get(*at)).map(|f| quoted(&f.words));
        Some(Spoken { words: once(words, NAMED), instead: None, is_part })
    }
}

/// What a call says of time.
#[derive(Clone, Copy)]
enum Asked {
    Period(Option<NaiveDate>, Option<NaiveDate>),
    Day(NaiveDate),
}

fn asked_days(call: &ToolCall, today: NaiveDate) -> Option<Asked> {
    let day = |key| call.arguments.get(key).and_then(Value::as_str).and_then(|day| day.trim().parse().ok());
    match call.name.as_str() {
        // A date left out is today's; one that is no date is refused elsewhere.
        "add_sale" => match call.arguments.get("date_sales_str").and_then(Value::as_str).map(str::trim) {
            None | Some("") => Some(Asked::Day(today)),
            Some(day) => day.parse().ok().map(Asked::Day),
        },
        "get_sales" | "list_registrations" | "summarize_sales" => {
            match (day("date_sales_begin_str"), day("date_sales_end_str")) {
                (None, None) => None,
                (begin, end) => Some(Asked::Period(begin, end)),
            }
        }
        _ => None,
    }
}

fn asked_price(call: &ToolCall) -> Option<Yen> {
    (call.name == "add_sale").then(|| call.arguments.get("price")?.as_i64().map(Yen)).flatten()
}

fn said_by<'i>(asker: &Asker, item: &'i Item) -> Option<&'i str> {
    match item {
        Item::User { person, text, .. } if *person == asker.person => Some(text),
        _ => None,
    }
}

fn names_a_day(found: &Found) -> bool {
    // What was refused looked like a day.
    let readings = found.meaning.readings();
    readings.is_empty() || readings.iter().any(|r| matches!(r, Reading::Day(_)))
}

/// The findings whose words can mean a sale on `day`, the first of them with what to tell.
fn day_ground(dates: &[Found], day: NaiveDate) -> Option<(usize, Ground<Days>)> {
    let exact = dates.iter().position(|f| f.meaning.readings().contains(&Reading::Day(day)));
    let at = exact.or_else(|| dates.iter().position(|f| f.meaning.readings().iter().any(|r| holds(*r, day))))?;
    let found = dates.get(at)?;
    let words = quoted(&found.words);
    let ground = if exact.is_some() {
        let others = found.meaning.readings().iter().filter(|r| matches!(r, Reading::Day(other) if *other != day));
        Ground::Words { words, also: others.map(|r| days(*r)).collect() }
    } else {
        Ground::Part { words }
    };
    Some((at, ground))
}

fn days(reading: Reading) -> Days {
    Days { start: reading.start(), end: reading.end() }
}

fn holds(reading: Reading, day: NaiveDate) -> bool {
    reading.start().is_none_or(|start| start <= day) && reading.end().is_none_or(|end| day <= end)
}

/// The findings that a period of a call takes up: one, or the two it reaches from and to. And whether it is only a part
/// of theirs.
fn meeting(
    dates: &[Found],
    begin: Option<NaiveDate>,
    end: Option<NaiveDate>,
    today: NaiveDate,
) -> (BTreeSet<usize>, bool) {
    let all = || dates.iter().enumerate().flat_map(|(at, f)| f.meaning.readings().iter().map(move |r| (at, *r)));
    let same: BTreeSet<usize> = all().filter(|(_, r)| is_period(*r, begin, end, today)).map(|(at, _)| at).collect();
    if !same.is_empty() {
        return (same, false);
    }
    let (Some(begin), Some(end)) = (begin, end) else { return (BTreeSet::new(), false) };
    // Two readings of the same words are alternatives, not the ends of a period.
    let joined = all().filter(|(_, r)| r.start() == Some(begin)).find_map(|(from, _)| {
        let (to, _) = all().find(|(to, r)| *to != from && ends_at(*r, end, today))?;
        Some(BTreeSet::from([from, to]))
    });
    if let Some(joined) = joined {
        return (joined, false);
    }
    let whole = is_whole(begin, end);
    (all().filter(|(_, r)| whole && holds(*r, begin) && holds(*r, end)).map(|(at, _)| at).collect(), true)
}

fn is_period(reading: Reading, begin: Option<NaiveDate>, end: Option<NaiveDate>, today: NaiveDate) -> bool {
    match reading {
        Reading::Until(last) => end == Some(last),
        Reading::Since(first) => begin == Some(first),
        Reading::Day(day) => begin == Some(day) && end.map_or(day >= today, |end| end == day),
        Reading::Range(first, _) => {
            begin == Some(first)
                && end.map_or_else(
                    // Open towards the future: the same sales, unless the period is over.
                    || reading.end().is_some_and(|last| last >= today),
                    |end| ends_at(reading, end, today),
                )
        }
    }
}

/// A period that is not over yet may also end today, or with the words.
fn ends_at(reading: Reading, end: NaiveDate, today: NaiveDate) -> bool {
    match reading.end() {
        Some(last) => end == last || (last >= today && (today..=last).contains(&end)),
        None => end >= today,
    }
}

/// Whole months, whole weeks, or one day: what a request for a longer period is rightly split into.
fn is_whole(begin: NaiveDate, end: NaiveDate) -> bool {
    let next = end.succ_opt();
    let months = begin.day() == 1 && next.is_some_and(|d| d.day() == 1);
    let weeks = begin.weekday() == chrono::Weekday::Mon && end.weekday() == chrono::Weekday::Sun;
    begin == end || months || weeks
}

/// How the price comes of the words: one amount times a quantity, or all amounts together, each as it is or times a
/// quantity. Nothing is worked out here for anybody: it only explains a price that was given.
fn worked_out(said: &Findings, price: Yen) -> Option<String> {
    let amounts = said.amounts.get(..said.amounts.len().min(MANY)).unwrap_or_default();
    let quantities = said.quantities.get(..said.quantities.len().min(MANY)).unwrap_or_default();
    let single =
        amounts.iter().find_map(|amount| ways(amount, quantities).into_iter().find(|(yen, _)| *yen == price.0));
    if let Some((_, words)) = single {
        return Some(words);
    }
    if let [a, b] = amounts
        && let (Meaning::Clear(more), Meaning::Clear(less)) = (&a.meaning, &b.meaning)
        && more.0.abs_diff(less.0) == price.0.unsigned_abs()
    {
        // A discount, or the change from a note.
        let (more, less) = if more.0 < less.0 { (b, a) } else { (a, b) };
        return Some(format!("{} − {}", quoted(&more.words), quoted(&less.words)));
    }
    if amounts.len() < 2 || amounts.len() < said.amounts.len() {
        return None;
    }
    together(amounts, quantities, price.0).map(|parts| parts.join(" + "))
}

/// The values one amount can stand for, with the words for each.
fn ways(amount: &Amount, quantities: &[Quantity]) -> Vec<(i64, String)> {
    let mut ways: Vec<(i64, String)> =
        amount.meaning.readings().iter().map(|yen| (yen.0, quoted(&amount.words))).collect();
    for yen in amount.meaning.readings() {
        for quantity in quantities.iter().filter(|q| q.number > 0.0 && q.number.fract() == 0.0) {
            // Exact: far below 2^53.
            if let Some(product) = yen.0.checked_mul(quantity.number as i64) {
                ways.push((product, format!("{} × {}", quoted(&amount.words), quoted(&quantity.words))));
            }
        }
    }
    ways
}

fn together(amounts: &[Amount], quantities: &[Quantity], left: i64) -> Option<Vec<String>> {
    let Some((first, rest)) = amounts.split_first() else { return (left == 0).then(Vec::new) };
    ways(first, quantities).into_iter().find_map(|(yen, words)| {
        let mut parts = together(rest, quantities, left.checked_sub(yen)?)?;
        parts.insert(0, words);
        Some(parts)
    })
}

fn digits(words: &str) -> String {
    words.nfkc().filter(char::is_ascii_digit).collect()
}

/// The numbers of a text outside of what was found; a customer's code is none.
fn bare_numbers(text: &str, found: &Findings) -> Vec<i64> {
    let spans: Vec<(usize, usize)> = found
        .dates
        .iter()
        .map(|f| (f.start_char, f.end_char))
        .chain(found.amounts.iter().map(|a| (a.start_char, a.end_char)))
        .chain(found.quantities.iter().map(|q| (q.start_char, q.end_char)))
        .collect();
    let outside = |at: usize| !spans.iter().any(|(from, to)| (*from..*to).contains(&at));
    let rest: String = text.chars().enumerate().map(|(at, c)| if outside(at) { c } else { ' ' }).collect();
    let rest: String = rest.nfkc().filter(|c| *c != ',').collect();
    rest.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.starts_with('0')).filter_map(|n| n.parse().ok()).collect()
}

/// The first few, each once: a message may say the same a thousand times.
fn once(all: impl Iterator<Item = String>, most: usize) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for one in all.take(LOOKED_AT) {
        if kept.len() < most && !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

/// Words as they may stand in a sentence of the host's: on one line, without quotes, of bounded length.
fn quoted(words: &str) -> String {
    let plain = words.chars().map(|c| if c.is_control() || "“”「」\"".contains(c) { ' ' } else { c });
    plain.take(QUOTED).collect::<String>().trim().to_owned()
}

/// What words say, for the model.
fn told(found: &Found) -> String {
    let all: Vec<String> = found.meaning.readings().iter().map(|reading| in_english(*reading)).collect();
    match &found.meaning {
        Meaning::Clear(_) => format!("is {}", all.join("")),
        Meaning::Ambiguous(_) => format!("may be {}", all.join(" or ")),
        Meaning::Refused(why) => format!("is no valid date ({}): ask which day is meant", reason(*why)),
    }
}

fn told_amount(amount: &Amount) -> String {
    let all: Vec<String> = amount.meaning.readings().iter().map(|yen| format!("{} yen", yen.0)).collect();
    let tax = match amount.tax {
        Some(Tax::Included) => ", tax included",
        Some(Tax::Excluded) => ", tax not included",
        None => "",
    };
    match &amount.meaning {
        Meaning::Clear(_) => format!("is {}{tax}", all.join("")),
        Meaning::Ambiguous(_) => format!("may be {}{tax}", all.join(" or ")),
        Meaning::Refused(why) => format!("is no valid amount ({}): ask what is meant", reason(*why)),
    }
}

fn in_english(reading: Reading) -> String {
    let day = |day: NaiveDate| day.format("%Y-%m-%d (%a)").to_string();
    match reading {
        Reading::Day(d) => day(d),
        Reading::Range(first, last) => format!("{} to {}", day(first), day(last)),
        Reading::Since(first) => format!("from {}", day(first)),
        Reading::Until(last) => format!("up to {}", day(last)),
    }
}

fn reason(why: Refusal) -> &'static str {
    match why {
        Refusal::NoSuchDay => "the calendar has no such day",
        Refusal::OtherWeekday => "that day is another weekday",
        Refusal::EndsBeforeItBegins => "it ends before it begins",
        Refusal::OutsideEra => "the era has no such year or day",
        Refusal::NotWhole => "a fraction of a yen",
        Refusal::Grouping => "the digits are grouped wrongly",
        Refusal::Negative => "it is negative",
    }
}

/// The days around today, for models that count badly: last week, this week, and the periods people name most.
pub(super) fn calendar(today: NaiveDate, fiscal_start: u32) -> String {
    let mut text = String::new();
    let context = Context { fiscal_start, ..Context::on(today) };
    for (label, words) in [
        ("last week", "先週"),
        ("this week", "今週"),
        ("last month", "先月"),
        ("this month", "今月"),
        ("this fiscal year", "今年度"),
    ] {
        let found = reading::dates(words, &context);
        if let Some(Meaning::Clear(Reading::Range(first, last))) = found.first().map(|f| &f.meaning) {
            let _ = writeln!(text, "{label}: {first} to {last}");
        }
    }
    let monday = today.checked_sub_days(chrono::Days::new(7 + u64::from(today.weekday().num_days_from_monday())));
    if let Some(monday) = monday {
        let days: Vec<String> = monday.iter_days().take(14).map(|d| d.format("%a %m-%d").to_string()).collect();
        let _ = writeln!(text, "days: {}", days.join(", "));
    }
    text
}

/// Whether a call was held back before, by its result in the history.
pub(super) fn was_told(content: &str) -> bool {
    let result: Value = serde_json::from_str(content).unwrap_or_default();
    result.pointer("/data/code").and_then(Value::as_str) == Some(DIFFERS)
}

/// The arguments of a call that was carried out, as a call.
pub(super) fn as_call(tool: &str, arguments: &Map<String, Value>) -> ToolCall {
    ToolCall { id: String::new(), name: tool.to_owned(), arguments: arguments.clone() }
}

#[cfg(test)]
mod tests;
