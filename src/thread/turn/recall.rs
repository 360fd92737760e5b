//! What a turn takes from what was stored: the asker's words of the day, what an earlier run of it had come to, a press of
//! the Stop button.

use super::{Outcome, Run, STOPPED};
use crate::agent::{Footer, Heard, Item, Step, Stop, Usage};
use crate::thread::history::Said;

/// The asker's words: those of this turn, or of the request that a continuation goes on with, and earlier ones of the
/// same day. Words like "yesterday" mean another day when they were said on another day.
pub(super) fn heard(run: &Run<'_>, begin: &[Item], said: &[Said]) -> Heard {
    let day = |said: &Said| {
        let at = chrono::DateTime::from_timestamp_millis(said.at)?;
        Some(at.with_timezone(&run.asker.zone).date_naive())
    };
    let of_request = |said: &&Said| run.depth > 0 && said.turn == run.origin.as_str();
    let origin = said.iter().find(of_request);
    let earlier: Vec<Item> = said
        .iter()
        .filter(|said| !of_request(said) && day(said) == Some(run.asker.today))
        .map(|said| said.item.clone())
        .collect();
    match origin {
        Some(said) => Heard::of(run.asker, std::slice::from_ref(&said.item), day(said), &earlier),
        None => Heard::of(run.asker, begin, None, &earlier),
    }
}

/// What a turn that is run again had done before, for its footer.
pub(super) fn footers_of(items: &[Item]) -> Vec<Footer> {
    items
        .iter()
        .filter_map(|item| match item {
            Item::Call { call } => {
                let result = items.iter().find_map(|i| match i {
                    Item::Result { call_id, content, .. } if *call_id == call.id => Some(content),
                    _ => None,
                })?;
                Footer::from_result(call, result)
            }
            _ => None,
        })
        .collect()
}

/// The answer that an earlier run stored.
pub(super) fn stored(answer: Vec<Item>, done: Vec<Footer>, known: Vec<Item>, shortened: bool) -> Outcome {
    let mut outcome = Outcome { text: String::new(), departments: Vec::new(), stop: None, done, known, shortened };
    for item in answer {
        match item {
            Item::Assistant { text, departments, .. } => {
                outcome.text = text;
                outcome.departments = departments;
            }
            Item::Note { text, .. } => outcome.stop = text.strip_prefix(STOPPED).and_then(Stop::from_code),
            _ => {}
        }
    }
    outcome
}

/// What a round is when the person pressed Stop in it.
pub(super) fn by_person() -> Step {
    let stop = Stop::Person;
    metrics::counter!("turns_stopped_total", "stop" => stop.code()).increment(1);
    Step::Final { text: String::new(), departments: Vec::new(), stop: Some(stop), usage: Usage::default() }
}
