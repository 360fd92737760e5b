//! Dates and periods. Weeks run from Monday to Sunday; a day without a year or month gives the near ones of both sides.

mod calendar;
mod english;
mod japanese;
mod written;

use chrono::NaiveDate;

use super::fold::Folded;
use super::{Found, Reading, Refusal};

type Meaning = super::Meaning<Reading>;

/// What one matcher found: the meaning and the position after the words.
type Match = Option<(Meaning, usize)>;

struct Span {
    from: usize,
    to: usize,
    meaning: Meaning,
}

pub(super) fn read(text: &str, today: NaiveDate) -> Vec<Found> {
    let text = Folded::new(text);
    let mut spans: Vec<Span> = Vec::new();
    let mut i = 0;
    while i < text.chars().len() {
        let found = written::at(&text, i, today)
            .or_else(|| japanese::at(&text, i, today))
            .or_else(|| english::at(&text, i, today));
        match found {
            Some((meaning, end)) if end > i => {
                spans.push(with_weekday(&text, Span { from: i, to: end, meaning }));
                i = spans.last().map_or(end, |s| s.to);
            }
            _ => i += 1,
        }
    }
    join_ranges(&text, spans)
        .into_iter()
        .map(|span| {
            let (start_char, end_char) = text.span(span.from, span.to);
            Found { words: text.words(span.from, span.to), start_char, end_char, meaning: span.meaning }
        })
        .collect()
}

/// `11/24（火）`: the weekday beside a date picks among its readings, or refuses the date.
fn with_weekday(text: &Folded, span: Span) -> Span {
    let mut at = span.to;
    let open = text.at(at) == Some('(');
    if open {
        at += 1;
    }
    let Some((weekday, end)) = calendar::kanji_weekday(text, at, !open) else { return span };
    let end = if open { end + 1 } else { end };
    if open && text.at(end - 1) != Some(')') {
        return span;
    }
    let readings = span.meaning.readings();
    if readings.is_empty() || readings.iter().any(|r| matches!(r, Reading::Range(..))) {
        return span;
    }
    let kept: Vec<Reading> = readings
        .iter()
        .copied()
        .filter(|r| r.start().is_some_and(|d| chrono::Datelike::weekday(&d) == weekday))
        .collect();
    let meaning = if kept.is_empty() { Meaning::Refused(Refusal::OtherWeekday) } else { calendar::among(kept) };
    Span { from: span.from, to: end, meaning }
}

/// Joins `AからBまで`, `A〜B`, `from A to B`, `between A and B` into one period.
fn join_ranges(text: &Folded, spans: Vec<Span>) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        let Some(before) = joined.last() else {
            joined.push(span);
            continue;
        };
        let gap: String = text.chars().get(before.to..span.from).unwrap_or_default().iter().collect();
        let between = lead(text, before.from, "between ");
        let connects = matches!(gap.trim(), "から" | "~" | "-" | "to" | "until" | "till" | "through" | "以降")
            || (gap.trim() == "and" && between.is_some());
        if !connects {
            joined.push(span);
            continue;
        }
        let from = between.or_else(|| lead(text, before.from, "from ")).unwrap_or(before.from);
        let to = text.word_at(span.to, "まで").unwrap_or(span.to);
        let meaning = spanning(&before.meaning, &span.meaning);
        joined.pop();
        joined.push(Span { from, to, meaning });
    }
    joined
}

fn lead(text: &Folded, at: usize, word: &str) -> Option<usize> {
    let from = at.checked_sub(word.len())?;
    text.word_at(from, word).map(|_| from)
}

fn spanning(first: &Meaning, last: &Meaning) -> Meaning {
    for meaning in [first, last] {
        if let Meaning::Refused(why) = meaning {
            return Meaning::Refused(*why);
        }
    }
    let mut readings = Vec::new();
    for a in first.readings() {
        // Of the ends after this beginning only the nearest is meant: 12/28〜1/5 crosses one new year, not two.
        let Some(start) = a.start() else { continue };
        if let Some(end) = last.readings().iter().filter_map(|b| b.end()).filter(|end| *end >= start).min() {
            readings.push(Reading::Range(start, end));
        }
    }
    if readings.is_empty() { Meaning::Refused(Refusal::EndsBeforeItBegins) } else { calendar::among(readings) }
}

#[cfg(test)]
mod tests;
