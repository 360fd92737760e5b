//! Both files of conversations, played through the endpoint.

use serde_json::{Map, Value};

use super::person::{Event, Person};
use crate::domain::{Lang, ToolCall};

/// One step of a case; the person may put it in several ways.
#[derive(Default)]
struct Step {
    ways: Vec<Event>,
    rounds: Vec<String>,
    has: Vec<String>,
    lacks: Vec<String>,
}

pub(super) struct Case {
    name: String,
    steps: Vec<Step>,
}

impl Case {
    fn lang(&self) -> Lang {
        if self.name.split(' ').any(|w| w == "en") { Lang::En } else { Lang::Ja }
    }

    /// The ways of putting the first step.
    pub(super) fn messages(&self) -> impl Iterator<Item = &str> {
        self.steps
            .iter()
            .flat_map(|s| &s.ways)
            .filter_map(|e| if let Event::Says(m) = e { Some(m.as_str()) } else { None })
    }
}

pub(super) fn cases(file: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in file.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            cases.push(Case { name: name.into(), steps: vec![Step::default()] });
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        let list = |text: &str| text.split(" | ").map(|s| s.replace("\\n", "\n")).collect::<Vec<_>>();
        let last = case.steps.last_mut().unwrap();
        if let Some(way) = line.strip_prefix("- ") {
            last.ways.push(Event::Says(way.replace("\\n", "\n")));
        } else if let Some(calls) = line.strip_prefix("=> ") {
            last.rounds.push(calls.into());
        } else if let Some(has) = line.strip_prefix("has: ") {
            last.has = list(has);
        } else if let Some(lacks) = line.strip_prefix("lacks: ") {
            last.lacks = list(lacks);
        } else if let Some(messages) = line.strip_prefix("> ") {
            case.steps.push(Step { ways: list(messages).into_iter().map(Event::Says).collect(), ..Step::default() });
        } else if let Some(note) = line.strip_prefix("! ") {
            case.steps.push(Step { ways: vec![Event::Note(note.into())], ..Step::default() });
        }
    }
    cases
}

fn fits(calls: &[ToolCall], want: &str) -> bool {
    let want: Vec<&str> = want.split(" & ").collect();
    want.len() == calls.len()
        && want.iter().zip(calls).all(|(want, call)| {
            let (name, args) = want.split_once(' ').unwrap();
            name == call.name
                && (args == "*" || serde_json::from_str::<Map<String, Value>>(args).unwrap() == call.arguments)
        })
}

fn shown(rounds: &[Vec<ToolCall>]) -> String {
    let call = |c: &ToolCall| format!("{} {}", c.name, Value::Object(c.arguments.clone()));
    let round = |r: &Vec<ToolCall>| r.iter().map(call).collect::<Vec<_>>().join(" & ");
    rounds.iter().map(round).collect::<Vec<_>>().join(" => ")
}

/// Plays a case in its `turn`th ways; gives what is wrong, and whether calls were made that nobody asked for.
async fn play(case: &Case, turn: usize) -> Result<(), (String, bool)> {
    let mut person = Person::new(case.lang());
    for step in &case.steps {
        let event = &step.ways[turn % step.ways.len()];
        let (rounds, text) = person.goes_on(event).await;
        let here = format!("[{}] {event:?}\n   calls {}\n   text {text:?}", case.name, shown(&rounds));
        if rounds.len() != step.rounds.len() || !rounds.iter().zip(&step.rounds).all(|(r, w)| fits(r, w)) {
            return Err((format!("{here}\n   want  {}", step.rounds.join(" => ")), !rounds.is_empty()));
        }
        if let Some(has) = step.has.iter().find(|h| !text.contains(h.as_str())) {
            return Err((format!("{here}\n   lacks {has}"), false));
        }
        // Whatever is understood is understood without a remainder, unless the step expects one.
        let remainder = ["読み取れなかったため、反映していません", "so it is not taken into account"];
        let expected = |r: &str| step.has.iter().any(|h| r.contains(h.as_str()));
        if let Some(said) = remainder.iter().find(|r| text.contains(**r) && !expected(r)) {
            return Err((format!("{here}\n   says {said}"), false));
        }
        if let Some(has) = step.lacks.iter().find(|h| text.contains(h.as_str())) {
            return Err((format!("{here}\n   says {has}"), true));
        }
    }
    Ok(())
}

/// Plays every way of every step at least once: how many conversations, and those that went wrong.
async fn play_all(file: &str) -> (usize, Vec<(String, bool)>) {
    let (mut played, mut wrong) = (0, Vec::new());
    for case in cases(file) {
        let turns = case.steps.iter().map(|s| s.ways.len()).max().unwrap_or_default();
        for turn in 0..turns {
            played += 1;
            wrong.extend(play(&case, turn).await.err());
        }
    }
    (played, wrong)
}

fn listed(wrong: &[(String, bool)]) -> String {
    wrong.iter().map(|(w, _)| w.as_str()).collect::<Vec<_>>().join("\n")
}

pub(super) const CONVERSATIONS: &str = include_str!("conversations.txt");
pub(super) const EVERYDAY: &str = include_str!("everyday.txt");

#[tokio::test]
async fn the_ten_conversations_work_in_every_paraphrase() {
    let (_, wrong) = play_all(CONVERSATIONS).await;
    assert!(wrong.is_empty(), "{} failures\n{}", wrong.len(), listed(&wrong));
}

/// The goal is 97 in a hundred; what is not understood must be said, not acted upon.
#[tokio::test]
async fn what_people_type_in_a_working_day_is_understood_and_never_silently_wrong() {
    let (played, wrong) = play_all(EVERYDAY).await;
    let silently = wrong.iter().filter(|w| w.1).count();
    let all = format!("{} of {played} wrong, {silently} silently\n{}", wrong.len(), listed(&wrong));
    println!("{all}");
    assert!(wrong.len() * 100 <= played * 3 && silently == 0, "{all}");
}

#[test]
fn each_conversation_has_at_least_five_paraphrases_in_each_language() {
    for number in ["1", "2", "3", "4", "5", "6", "7", "8", "10"] {
        for lang in ["ja", "en"] {
            let prefix = format!("{number} {lang} ");
            let all = cases(CONVERSATIONS);
            let ways: usize = all.iter().filter(|c| c.name.starts_with(&prefix)).map(|c| c.steps[0].ways.len()).sum();
            assert!(ways >= 5, "{prefix} has {ways}");
        }
    }
}

#[test]
fn the_working_day_is_long_enough_in_both_languages() {
    let messages =
        |lang| cases(EVERYDAY).iter().filter(|c| c.lang() == lang).map(|c| c.messages().count()).sum::<usize>();
    assert!(messages(Lang::Ja) >= 150 && messages(Lang::En) >= 100);
}

#[tokio::test]
async fn full_width_digits_ask_for_the_same_as_half_width_ones() {
    let wide = |c: char| if c.is_ascii_digit() { char::from_u32(c as u32 + 0xfee0).unwrap() } else { c };
    for case in cases(CONVERSATIONS) {
        for message in case.steps[0].ways.iter().filter_map(|e| if let Event::Says(m) = e { Some(m) } else { None }) {
            let wide: String = message.chars().map(wide).collect();
            let (narrow, _) = Person::new(Lang::Ja).says(message).await;
            let (wide, _) = Person::new(Lang::Ja).says(&wide).await;
            assert_eq!(shown(&narrow), shown(&wide), "{message}");
        }
    }
}
