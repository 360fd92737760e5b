//! From a message to the list of what it asks for.

use std::ops::Range;

use chrono::{Datelike, NaiveDate};

use super::cues::{self, Cue, CueAt};
use super::text::{Mark, Text};
use super::{conditions, names, products};
use crate::domain::{Lang, Yen};
use crate::reading::{Found, Meaning, Reading, Refusal};

/// A customer as the message names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Code(String),
    Name(String),
}

/// A period, both days included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) start: NaiveDate,
    pub(super) end: NaiveDate,
}

impl Period {
    /// What a reading covers; the tools need both ends, and an open one goes as far as any sale.
    pub(super) fn of(reading: Reading) -> Self {
        let (first, last) = (NaiveDate::from_ymd_opt(2000, 1, 1), NaiveDate::from_ymd_opt(2099, 12, 31));
        let start = reading.start().or(first).unwrap_or_default();
        Self { start, end: reading.end().or(last).unwrap_or_default().max(start) }
    }
}

/// One thing that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Intent {
    /// A customer's code, address, phone; all customers when `all`.
    Customer {
        who: Option<Who>,
        contact: bool,
        all: bool,
    },
    Sales {
        who: Who,
        period: Option<Period>,
    },
    Total {
        who: Option<Who>,
        period: Option<Period>,
        group: Option<&'static str>,
    },
    Mine {
        period: Option<Period>,
    },
    Register(Registration),
    Cancel {
        sale: Option<String>,
        reason: Option<String>,
    },
    /// A date that does not exist stands where one is needed.
    BadDate {
        words: String,
        why: Refusal,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Registration {
    pub(super) who: Option<Who>,
    pub(super) products: Option<String>,
    pub(super) price: Price,
    pub(super) date: Day,
    pub(super) condition: Option<Condition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Price {
    Missing,
    Whole(Yen),
    /// Several amounts: which is whose would be a guess.
    Several,
    /// A price for one piece: multiplying is not this model's to do.
    PerPiece,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Day {
    Missing,
    One {
        day: NaiveDate,
        words: String,
        others: Vec<NaiveDate>,
    },
    /// A period where a day is needed.
    Longer {
        words: String,
        period: Option<Period>,
    },
}

/// A condition on what is already registered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub(super) who: Option<Who>,
    pub(super) period: Option<Period>,
    pub(super) test: Test,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// Holds when nothing is registered.
    NoneYet,
    /// Holds when something is.
    SomeAlready,
    /// Not understood: then nothing is registered.
    Unclear,
}

/// A message, understood as far as it goes.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) intents: Vec<Intent>,
    pub(super) text: Text,
    /// No word says what is asked.
    pub(super) cueless: bool,
}

struct Clause {
    range: Range<usize>,
    cues: Vec<Cue>,
    /// Begins after a full stop or the like.
    strong: bool,
}

/// Reads a message.
pub(super) fn read(message: &str, today: NaiveDate, default: Lang) -> Request {
    let mut text = Text::new(message, today);
    let lang = text.lang.unwrap_or(default);
    let condition = conditions::find(&text, lang);
    if let Some((range, _)) = &condition {
        text.mark(range.clone(), Mark::Condition);
    }
    let cues = cues::find(&mut text);
    if condition.is_some() && !cues.iter().any(|c| c.cue == Cue::Register) && text.amounts.is_empty() {
        // A condition on something else than a registration is read as plain words.
        return read_unconditionally(message, today, lang);
    }
    finish(text, &cues, condition, lang)
}

fn read_unconditionally(message: &str, today: NaiveDate, lang: Lang) -> Request {
    let mut text = Text::new(message, today);
    let cues = cues::find(&mut text);
    finish(text, &cues, None, lang)
}

fn finish(text: Text, cues: &[CueAt], condition: Option<(Range<usize>, Test)>, lang: Lang) -> Request {
    let cueless = cues.is_empty();
    if cues.iter().any(|c| c.cue == Cue::Cancel)
        && (!text.sale_codes.is_empty() || cues.iter().all(|c| c.cue != Cue::Register))
    {
        let sale = text.sale_codes.first().map(|s| s.1.clone());
        let reason = conditions::reason(&text, lang);
        return Request { intents: vec![Intent::Cancel { sale, reason }], text, cueless };
    }
    let clauses = merge(&text, clauses(&text, cues, lang), lang);
    let mut intents: Vec<Intent> = Vec::new();
    for clause in &clauses {
        clause_intents(&text, clause, lang, &mut intents);
    }
    drop_bare_repetitions(&mut intents);
    attach(&text, &mut intents, condition, lang);
    Request { intents, text, cueless }
}

/// Cuts the message between the words that tell what is asked.
fn clauses(text: &Text, cues: &[CueAt], lang: Lang) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut start = 0;
    let mut strong = false;
    let mut own: Vec<Cue> = Vec::new();
    for (at, cue) in cues.iter().enumerate() {
        own.push(cue.cue);
        let Some(next) = cues.get(at + 1) else { break };
        if cue.cue.is_customer() && next.cue.is_customer() && gap_is_short(text, cue, next) {
            continue;
        }
        if let Some((cut, is_strong)) = divide(text, cue.to..next.from, lang, cue.cue) {
            clauses.push(Clause { range: start..cut, cues: std::mem::take(&mut own), strong });
            start = cut;
            strong = is_strong;
        }
    }
    clauses.push(Clause { range: start..text.len(), cues: own, strong });
    clauses
}

/// コードと電話番号: two words about one customer.
fn gap_is_short(text: &Text, a: &CueAt, b: &CueAt) -> bool {
    let between = text.words(a.to..b.from);
    matches!(
        between.trim().trim_matches(['、', ',']).trim(),
        "" | "と" | "や" | "と、" | "・" | "and" | "or" | "の" | "and the" | "and their"
    )
}

const STRONG: [&str; 8] = ["。", "！", "？", "!", "?", "\n", ";", ". "];
const WEAK_JA: [&str; 18] = [
    "それから",
    "そのあと",
    "その後",
    "ついでに",
    "そして",
    "あと",
    "また",
    "次に",
    "、",
    ",",
    "して",
    "教えて",
    "見せて",
    "したら",
    "後に",
    "と",
    "や",
    " ",
];
const WEAK_EN: [&str; 11] = [
    ", and then ",
    " and then ",
    ", then ",
    ", and ",
    " then ",
    ", also ",
    " and also ",
    " and ",
    " also ",
    ", ",
    " plus ",
];

/// Where one request ends and the next begins, and whether by a full stop.
fn divide(text: &Text, between: Range<usize>, lang: Lang, first: Cue) -> Option<(usize, bool)> {
    if let Some(stop) = text.find(between.clone(), &STRONG) {
        return Some((stop.end, true));
    }
    let free = |r: &Range<usize>| r.clone().all(|i| matches!(text.marked(i), Some(Mark::Free)));
    match lang {
        // The verb ends a Japanese request, so the first division after it counts.
        Lang::Ja => between
            .clone()
            .filter_map(|i| WEAK_JA.iter().find_map(|w| text.word_at(i, w).map(|end| (*w, i..end))))
            .filter(|(_, r)| r.end <= between.end && free(r))
            .find(|(word, r)| match *word {
                "と" | "や" => r.start <= between.start + 1 && first != Cue::Register,
                "して" | "したら" | "後に" => first == Cue::Register && r.end < between.end,
                _ => true,
            })
            .map(|(_, r)| (r.end, false)),
        // The verb begins an English one, so the last division before the next verb counts.
        Lang::En => between
            .clone()
            .rev()
            .find_map(|i| text.any_at(i, &WEAK_EN).map(|end| i..end).filter(|r| r.end <= between.end && free(r)))
            .map(|r| (r.start, false)),
    }
}

/// Puts clauses together again that ask for one thing.
fn merge(text: &Text, clauses: Vec<Clause>, lang: Lang) -> Vec<Clause> {
    let mut merged: Vec<Clause> = Vec::new();
    for mut clause in clauses {
        if let Some(last) = merged.last_mut() {
            let figures = |c: &Clause| !c.cues.is_empty() && c.cues.iter().all(|c| c.is_figures());
            let same_figures = figures(last)
                && figures(&clause)
                && !clause.strong
                && customers(text, &clause.range, lang, false).is_empty()
                && adjoining(text, &last.range, &clause.range);
            let register = last.cues.contains(&Cue::Register);
            let goods_follow = register
                && !has_amount(text, &last.range)
                && has_amount(text, &clause.range)
                && clause.cues.iter().all(|c| c.is_figures());
            if same_figures || goods_follow {
                last.range.end = clause.range.end;
                last.cues.append(&mut clause.cues);
                continue;
            }
        }
        merged.push(clause);
    }
    merged
}

fn has_amount(text: &Text, range: &Range<usize>) -> bool {
    text.amounts.iter().any(|a| range.contains(&a.start_char))
}

/// The periods of two clauses can be one: at most one has any, or they follow each other.
fn adjoining(text: &Text, a: &Range<usize>, b: &Range<usize>) -> bool {
    let (first, second) = (periods(text, a), periods(text, b));
    match (first.last(), second.first()) {
        (Some(a), Some(b)) => a.end.succ_opt() == Some(b.start) || b.end.succ_opt() == Some(a.start),
        _ => true,
    }
}

fn own_dates<'t>(text: &'t Text, range: &Range<usize>) -> impl Iterator<Item = &'t Found> {
    let range = range.clone();
    text.dates.iter().filter(move |d| range.contains(&d.start_char) && text.marked(d.start_char) == Some(Mark::Date))
}

/// For a search the whole period is meant: 2週間前 is that week.
fn as_period(meaning: &Meaning<Reading>) -> Option<Period> {
    let readings = meaning.readings();
    let whole = readings.iter().find(|r| !matches!(r, Reading::Day(_))).or_else(|| readings.first())?;
    Some(Period::of(*whole))
}

fn periods(text: &Text, range: &Range<usize>) -> Vec<Period> {
    own_dates(text, range).filter_map(|d| as_period(&d.meaning)).collect()
}

/// One period over all that follow each other; else the first.
fn joined_period(periods: &[Period]) -> Option<Period> {
    let mut sorted = periods.to_vec();
    sorted.sort_by_key(|p| p.start);
    let mut whole = *sorted.first()?;
    for next in sorted.iter().skip(1) {
        if whole.end.succ_opt() < Some(next.start) {
            return periods.first().copied();
        }
        whole.end = whole.end.max(next.end);
    }
    Some(whole)
}

fn customers(text: &Text, range: &Range<usize>, lang: Lang, writing: bool) -> Vec<(Range<usize>, Who)> {
    let codes: Vec<(Range<usize>, Who)> = text
        .codes
        .iter()
        .filter(|(r, _)| range.contains(&r.start) && text.marked(r.start) == Some(Mark::Code))
        .map(|(r, code)| (r.clone(), Who::Code(code.clone())))
        .collect();
    if !codes.is_empty() {
        return codes;
    }
    names::find(text, range.clone(), lang, writing).into_iter().map(|(r, name)| (r, Who::Name(name))).collect()
}

fn says(text: &Text, range: &Range<usize>, words: &[&str]) -> bool {
    text.find(range.clone(), words).is_some()
}

fn clause_intents(text: &Text, clause: &Clause, lang: Lang, intents: &mut Vec<Intent>) {
    let range = &clause.range;
    let question = says(
        text,
        range,
        &["教え", "見せ", "?", "how", "what", "show", "tell", "list", "知りたい", "ですか", "ますか"],
    );
    let mut cue = clause.cues.iter().min().copied();
    let amount = has_amount(text, range);
    if amount && !question && cue.is_none_or(Cue::is_figures) {
        // かぼちゃ4個600円で売れました tells a sale.
        cue = Some(Cue::Register);
    }
    let writing = cue == Some(Cue::Register);
    let who = customers(text, range, lang, writing);
    if cue == Some(Cue::Register) {
        intents.extend(registrations(text, range, &who, lang));
        return;
    }
    let taken: Vec<Range<usize>> = who.iter().map(|w| w.0.clone()).collect();
    // フランスの首都を探して seeks no customer; nor does anything without a word that says what is asked.
    let certain = match lang {
        _ if who.iter().any(|w| matches!(w.1, Who::Code(_))) => true,
        Lang::Ja => !who.is_empty() && says(text, range, &["さん", "様", "さま", "御中"]),
        Lang::En => !who.is_empty() && !names::leftover(text, range.clone(), &taken),
    };
    if matches!(cue, None | Some(Cue::Seek)) && !certain {
        return;
    }
    let refused = own_dates(text, range).find_map(|d| match d.meaning {
        Meaning::Refused(why) => Some(Intent::BadDate { words: d.words.clone(), why }),
        _ => None,
    });
    if let Some(refused) = refused {
        intents.push(refused);
        return;
    }
    let period = joined_period(&periods(text, range));
    let cue = cue.unwrap_or(if period.is_some() { Cue::Sales } else { Cue::Find });
    let overall = says(
        text,
        range,
        &[
            "全体",
            "全部",
            "全社",
            "すべて",
            "全て",
            "みんな",
            "全顧客",
            "overall",
            "all customers",
            "everyone",
            "whole",
        ],
    );
    let who: Vec<Who> = match (who.is_empty() && !overall, intents.last().and_then(Intent::who)) {
        (true, Some(before)) if cue.is_figures() => vec![before],
        _ => who.into_iter().map(|w| w.1).collect(),
    };
    let each =
        || -> Vec<Option<Who>> { if who.is_empty() { vec![None] } else { who.iter().cloned().map(Some).collect() } };
    match cue {
        Cue::Mine => intents.push(Intent::Mine { period }),
        Cue::Total => {
            let group = group(text, range);
            intents.extend(each().into_iter().map(|who| Intent::Total { who, period, group }));
        }
        Cue::Sales if who.is_empty() => {
            intents.push(Intent::Total { who: None, period, group: Some(group(text, range).unwrap_or("customer")) });
        }
        Cue::Sales => intents.extend(who.into_iter().map(|who| Intent::Sales { who, period })),
        _ => {
            let contact = clause.cues.contains(&Cue::Contact);
            let all = says(text, range, &["一覧", "リスト", "全員", "list", "all"]);
            intents.extend(each().into_iter().map(|who| Intent::Customer { all: all && who.is_none(), who, contact }));
        }
    }
}

impl Intent {
    /// The customer the intent is about.
    pub(super) fn who(&self) -> Option<Who> {
        match self {
            Self::Customer { who, .. } | Self::Total { who, .. } => who.clone(),
            Self::Sales { who, .. } => Some(who.clone()),
            Self::Register(r) => r.who.clone(),
            Self::Mine { .. } | Self::Cancel { .. } | Self::BadDate { .. } => None,
        }
    }

    /// Asks for a write.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Register(_) | Self::Cancel { .. })
    }
}

fn group(text: &Text, range: &Range<usize>) -> Option<&'static str> {
    const GROUPS: [(&str, &[&str]); 5] = [
        (
            "customer",
            &[
                "顧客別",
                "お客様別",
                "得意先別",
                "顧客ごと",
                "お客様ごと",
                "ランキング",
                "by customer",
                "per customer",
                "each customer",
            ],
        ),
        (
            "staff",
            &[
                "担当者別",
                "担当別",
                "スタッフ別",
                "担当者ごと",
                "担当ごと",
                "人別",
                "by staff",
                "per staff",
                "by person",
                "per person",
                "each staff",
            ],
        ),
        ("month", &["月別", "月ごと", "毎月", "by month", "per month", "monthly", "each month"]),
        ("week", &["週別", "週ごと", "毎週", "by week", "per week", "weekly", "each week"]),
        ("day", &["日別", "日ごと", "毎日", "by day", "per day", "daily", "each day"]),
    ];
    GROUPS.iter().find(|(_, words)| says(text, range, words)).map(|(group, _)| *group)
}

fn registrations(text: &Text, range: &Range<usize>, who: &[(Range<usize>, Who)], lang: Lang) -> Vec<Intent> {
    let taken: Vec<Range<usize>> = who.iter().map(|w| w.0.clone()).collect();
    let products = products::find(text, range.clone(), &taken, lang);
    let amounts: Vec<Yen> = text
        .amounts
        .iter()
        .filter(|a| range.contains(&a.start_char))
        .flat_map(|a| a.meaning.readings().iter().copied())
        .collect();
    let per_piece = says(
        text,
        range,
        &[
            "単価",
            "あたり",
            "当たり",
            "1個につき",
            "each",
            "apiece",
            "per piece",
            "per box",
            "per kg",
            "per bag",
            "a piece",
            "@",
        ],
    );
    let price = match amounts.as_slice() {
        [] => Price::Missing,
        _ if per_piece => Price::PerPiece,
        [only] => Price::Whole(*only),
        _ => Price::Several,
    };
    let mut date = Day::Missing;
    for found in own_dates(text, range) {
        match &found.meaning {
            Meaning::Refused(why) => return vec![Intent::BadDate { words: found.words.clone(), why: *why }],
            meaning => {
                let days: Vec<NaiveDate> = meaning
                    .readings()
                    .iter()
                    .filter_map(|r| if let Reading::Day(d) = r { Some(*d) } else { None })
                    .collect();
                date = match (days.split_first(), date) {
                    (None, Day::Missing) => Day::Longer { words: found.words.clone(), period: as_period(meaning) },
                    (Some(_), Day::Longer { words, period }) => within(&words, period, found, &days),
                    (Some((day, others)), Day::Missing) => {
                        Day::One { day: *day, words: found.words.clone(), others: others.to_vec() }
                    }
                    (_, decided) => decided,
                };
            }
        }
    }
    let one = |who: Option<Who>| {
        Intent::Register(Registration { who, products: products.clone(), price, date: date.clone(), condition: None })
    };
    if who.is_empty() { vec![one(None)] } else { who.iter().map(|w| one(Some(w.1.clone()))).collect() }
}

/// 先週 … 火曜日: a day named after a period lies in it.
fn within(words: &str, period: Option<Period>, found: &Found, days: &[NaiveDate]) -> Day {
    let inside = |day: &&NaiveDate| period.is_none_or(|p| (p.start..=p.end).contains(*day));
    let of_week = || {
        let weekday = days.first()?.weekday();
        let week = period.filter(|p| (p.end - p.start).num_days() < 7)?;
        let named = found.words.contains('曜') || found.words.to_lowercase().ends_with("day");
        week.start.iter_days().take(7).find(|d| named && d.weekday() == weekday)
    };
    match days.iter().find(inside).copied().or_else(of_week) {
        Some(day) => Day::One { day, words: found.words.clone(), others: Vec::new() },
        None => Day::Longer { words: words.to_owned(), period },
    }
}

/// …登録したい。ただし…の場合に登録を行う: the second verb repeats the first.
fn drop_bare_repetitions(intents: &mut Vec<Intent>) {
    let bare = |i: &Intent| {
        matches!(i, Intent::Register(r)
            if r.products.is_none() && r.price == Price::Missing && r.date == Day::Missing && r.who.is_none())
    };
    if intents.iter().any(|i| matches!(i, Intent::Register(_)) && !bare(i)) {
        intents.retain(|i| !bare(i));
    }
}

/// Gives a condition to the registration it governs; what that one lacks may stand in the condition.
fn attach(text: &Text, intents: &mut Vec<Intent>, condition: Option<(Range<usize>, Test)>, lang: Lang) {
    let Some((range, test)) = condition else { return };
    let period = text
        .dates
        .iter()
        .filter(|d| range.contains(&d.start_char))
        .filter_map(|d| as_period(&d.meaning))
        .collect::<Vec<_>>();
    let who = text
        .codes
        .iter()
        .find(|(r, _)| range.contains(&r.start))
        .map(|(_, code)| Who::Code(code.clone()))
        .or_else(|| conditions::name(text, range.clone(), lang).map(Who::Name));
    let mut who = who;
    let mut period = joined_period(&period);
    // 今月の件数を確認して、0件なら…: what is looked up first is what the condition is about.
    let looked_up = match intents.as_slice() {
        [Intent::Sales { who, period }, Intent::Register(_), ..] => Some((Some(who.clone()), *period)),
        [Intent::Total { who, period, .. }, Intent::Register(_), ..] => Some((who.clone(), *period)),
        _ => None,
    };
    if let Some((of, when)) =
        looked_up.filter(|_| says(text, &(0..text.len()), &["確認", "調べ", "check", "see if", "look up"]))
    {
        who = who.or(of);
        period = period.or(when);
        intents.remove(0);
    }
    for intent in intents.iter_mut() {
        if let Intent::Register(registration) = intent {
            registration.who = registration.who.take().or_else(|| who.clone());
            registration.condition =
                Some(Condition { who: who.clone().or_else(|| registration.who.clone()), period, test });
        }
    }
}
