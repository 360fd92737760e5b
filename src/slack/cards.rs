//! The card: one proposed write, exactly as it will be made, in every state of its life.
//!
//! What it promises: a card is a pure function of typed fields. Everything on it is `plain_text`, so no name or product
//! can format, link, ping or press anything, nor look like another line of the card; a button carries the proposal's id
//! and nothing else. A receipt is drawn from what the sales server stored, never from what a model said.

use chrono::NaiveDate;
use serde_json::{Value, json};

use super::text::{Body, clamp, escape, escaped_clamp, one_line};
use crate::domain::{Days, Ground, Grounds, Lang, Proposal, ProposalState, TaxNote, Write, Yen};
use crate::words::cards as words;

/// The confirm button's `action_id`.
pub const CONFIRM: &str = "proposal_confirm";
/// The cancel button's `action_id`.
pub const CANCEL: &str = "proposal_cancel";

/// Slack's limits, in UTF-16 units.
const HEADER: usize = 150;
const SECTION: usize = 3000;
const FIELD: usize = 2000;
const BUTTON: usize = 75;
/// A value shares its text object with a label. Over the whole width 1,000 characters of any kind fit, the most that
/// the sales server takes.
const FIELD_VALUE: usize = 1800;
const LINE_VALUE: usize = 2900;
/// Of the `text` field, in bytes after escaping.
const TEXT_BYTES: usize = 4000;
/// A value in the `text` field, so that none crowds out the others.
const TEXT_VALUE_BYTES: usize = 1600;

/// Other readings shown at most; a person with more has to say it in full anyway.
const READINGS: usize = 3;

/// What a card is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Card<'a> {
    /// The proposal, in the state to be shown.
    pub proposal: &'a Proposal,
    /// The requester's name as Slack or the staff record has it.
    pub requester_name: &'a str,
    /// The name of who decided, once decided by a person.
    pub decider_name: Option<&'a str>,
}

/// Draws the card of a proposal in its present state.
pub fn render(card: &Card<'_>) -> Body {
    let proposal = card.proposal;
    let lang = proposal.lang;
    let has_buttons = matches!(proposal.state, ProposalState::Pending | ProposalState::AwaitingManager);

    let mut sheet = Sheet { key: format!("{}:{}", proposal.id, proposal.state.code()), ..Sheet::default() };
    sheet.header(&title(proposal));
    if let Some(number) = sale_number(proposal).filter(|_| proposal.state == ProposalState::Done) {
        sheet.line(&words::sale_number(lang), number);
    }
    match &proposal.write {
        Write::AddSale { code_customer, name_customer, department, products, price, date_sales } => {
            sheet.fields(&[
                (words::customer(lang), words::name_and_code(lang, one_line(name_customer), one_line(code_customer))),
                (words::department(lang), department.clone()),
                (words::amount(lang), words::money(lang, *price)),
                (words::date(lang), words::day(lang, *date_sales)),
            ]);
            sheet.line(&words::products(lang), products);
            if has_buttons {
                sheet.notes(&grounds(lang, &proposal.grounds, *price, *date_sales));
            }
        }
        Write::CancelSale {
            code_sales,
            code_customer,
            name_customer,
            department,
            products,
            price,
            date_sales,
            reason,
        } => {
            if proposal.state != ProposalState::Done {
                sheet.line(&words::sale_number(lang), code_sales);
            }
            sheet.fields(&[
                (words::customer(lang), words::name_and_code(lang, one_line(name_customer), one_line(code_customer))),
                (words::department(lang), department.clone()),
                (words::amount(lang), words::money(lang, *price)),
                (words::date(lang), words::day(lang, *date_sales)),
            ]);
            sheet.line(&words::products(lang), products);
            sheet.line(&words::reason(lang), reason);
        }
    }
    sheet.notes(&notes(card));
    if has_buttons {
        sheet.buttons(proposal);
    }
    sheet.finish()
}

/// How the values were come by: read in the person's words, assumed, or at odds with them. For who decides, so only
/// while there is something to decide.
fn grounds(lang: Lang, grounds: &Grounds, price: Yen, day: NaiveDate) -> Vec<String> {
    let said = |words: &str| clamp(&one_line(words), BUTTON);
    let days = |days: &[Days]| {
        let all: Vec<String> = days.iter().take(READINGS).map(|d| period(lang, *d)).collect();
        all.join(words::or(lang).as_str())
    };
    let amounts = |yen: &[Yen]| {
        let all: Vec<String> = yen.iter().take(READINGS).map(|y| words::money(lang, *y)).collect();
        all.join(words::or(lang).as_str())
    };
    let shown = words::day(lang, day);
    let date = grounds.date.as_ref().map(|ground| match ground {
        Ground::Words { words: w, also } if also.is_empty() => words::read_as(lang, said(w), shown),
        Ground::Words { words: w, also } => words::read_as_or(lang, said(w), shown, days(also)),
        Ground::Part { words: w } => words::day_within(lang, said(w), shown),
        Ground::Default { not: None } => words::day_assumed(lang),
        Ground::Default { not: Some(w) } => words::day_assumed_not(lang, said(w)),
        Ground::Unsaid => words::day_unsaid(lang, shown),
        Ground::Refused { words: w } => words::no_such_day(lang, said(w), shown),
        Ground::Differs { words: w, says } => words::differs(lang, said(w), days(says), shown),
    });
    let shown = words::money(lang, price);
    let amount = grounds.price.as_ref().map(|ground| match ground {
        Ground::Words { words: w, also } if also.is_empty() => words::read_as(lang, said(w), shown),
        Ground::Words { words: w, also } => words::read_as_or(lang, said(w), shown, amounts(also)),
        Ground::Part { .. } | Ground::Default { .. } | Ground::Unsaid => words::amount_unsaid(lang, shown),
        Ground::Refused { words: w } => words::no_such_amount(lang, said(w), shown),
        // What the words are digit by digit needs no reading.
        Ground::Differs { words: w, says } => match says.as_slice() {
            [only] if w.trim_end_matches('円').parse() == Ok(only.0) => {
                words::amount_differs(lang, amounts(says), shown)
            }
            _ => words::differs(lang, said(w), amounts(says), shown),
        },
    });
    let tax = grounds.tax.map(|tax| match tax {
        TaxNote::Included => words::tax_included(lang),
        TaxNote::Excluded => words::tax_excluded(lang),
    });
    [date, amount, tax].into_iter().flatten().collect()
}

fn period(lang: Lang, days: Days) -> String {
    match (days.start, days.end) {
        (Some(start), Some(end)) if start == end => words::day(lang, start),
        (Some(start), Some(end)) => words::from_to(lang, words::day(lang, start), words::day(lang, end)),
        (Some(start), None) => words::from_on(lang, words::day(lang, start)),
        (None, Some(end)) => words::up_to(lang, words::day(lang, end)),
        (None, None) => String::new(),
    }
}

/// The number of the registered or cancelled sale, as the sales server returned it.
pub fn sale_number(proposal: &Proposal) -> Option<&str> {
    let stored = proposal.result.as_ref().and_then(|row| {
        ["/code_sales", "/sales_registered/code_sales", "/sale_cancelled/code_sales"]
            .iter()
            .find_map(|path| row.pointer(path).and_then(Value::as_str))
    });
    match &proposal.write {
        Write::AddSale { .. } => stored,
        Write::CancelSale { code_sales, .. } => stored.or(Some(code_sales)),
    }
}

fn title(proposal: &Proposal) -> String {
    let lang = proposal.lang;
    let adds = matches!(proposal.write, Write::AddSale { .. });
    let by_kind = |add: fn(Lang) -> String, cancel: fn(Lang) -> String| if adds { add(lang) } else { cancel(lang) };
    match proposal.state {
        ProposalState::Pending => by_kind(words::title_add, words::title_cancel),
        ProposalState::AwaitingManager => words::awaiting_title(lang),
        ProposalState::Claimed => by_kind(words::working_add, words::working_cancel),
        ProposalState::Done => by_kind(words::receipt_title, words::receipt_cancel_title),
        ProposalState::Failed => by_kind(words::failed_add_title, words::failed_cancel_title),
        ProposalState::Unknown => words::unknown_title(lang),
        ProposalState::Cancelled => by_kind(words::cancelled_add, words::cancelled_cancel),
        ProposalState::Expired => words::expired_title(lang),
        ProposalState::Superseded if withdrawn(proposal).is_some() => words::withdrawn_title(lang),
        ProposalState::Superseded => words::superseded_title(lang),
    }
}

/// The small lines under the values.
fn notes(card: &Card<'_>) -> Vec<String> {
    let proposal = card.proposal;
    let lang = proposal.lang;
    let adds = matches!(proposal.write, Write::AddSale { .. });
    let requester = clamp(&one_line(card.requester_name), BUTTON);
    let decider = card.decider_name.map(|name| clamp(&one_line(name), BUTTON));
    let asked = words::asked_by(lang, &requester);
    let not_yet = if adds { words::not_yet(lang) } else { words::not_yet_cancelled(lang) };
    match proposal.state {
        ProposalState::Pending => vec![words::who_may_press(lang, requester), not_yet, validity(proposal)],
        ProposalState::AwaitingManager => vec![words::who_may_approve(lang, requester), not_yet, validity(proposal)],
        ProposalState::Claimed => vec![asked],
        ProposalState::Done => {
            let confirmed = decider.map(|name| words::confirmed_by(lang, name));
            [asked].into_iter().chain(confirmed).collect()
        }
        ProposalState::Failed => {
            let why = words::failed(lang, &clamp(&one_line(proposal.failure.as_deref().unwrap_or("?")), BUTTON));
            vec![why, asked]
        }
        ProposalState::Unknown => vec![words::unknown(lang), asked],
        ProposalState::Cancelled => vec![words::cancelled_by(lang, decider.unwrap_or(requester))],
        ProposalState::Expired => {
            vec![if adds { words::expired_add(lang) } else { words::expired_cancel(lang) }, asked]
        }
        ProposalState::Superseded => {
            vec![withdrawn(proposal).map_or_else(|| words::superseded(lang), |why| why(lang)), asked]
        }
    }
}

/// Why a card without a successor was taken back.
fn withdrawn(proposal: &Proposal) -> Option<fn(Lang) -> String> {
    match proposal.failure.as_deref()? {
        "message_edited" => Some(words::withdrawn_edited),
        "message_deleted" => Some(words::withdrawn_deleted),
        _ => None,
    }
}

fn validity(proposal: &Proposal) -> String {
    let minutes = (proposal.expires_at - proposal.created_at).max(0) / 60_000;
    if minutes >= 60 && minutes % 60 == 0 {
        words::valid_hours(proposal.lang, minutes / 60)
    } else {
        words::valid_minutes(proposal.lang, minutes)
    }
}

/// Collects a card's blocks and, beside them, the same as text.
#[derive(Default)]
struct Sheet {
    /// Makes block ids unique to the proposal and its state: Slack asks for new ones when a message changes.
    key: String,
    blocks: Vec<Value>,
    text: Vec<String>,
}

impl Sheet {
    fn block(&mut self, kind: &str, mut rest: Value) {
        if let Some(block) = rest.as_object_mut() {
            block.insert("type".into(), json!(kind));
            block.insert("block_id".into(), json!(format!("{}:{}", self.key, self.blocks.len())));
        }
        self.blocks.push(rest);
    }

    fn header(&mut self, title: &str) {
        self.block("header", json!({ "text": plain_text(title, HEADER) }));
        self.text.push(escape(title));
    }

    fn say(&mut self, label: &str, value: &str, max: usize) -> String {
        let value = clamp(&one_line(value), max);
        self.text.push(escaped_clamp(&format!("{label}: {value}"), TEXT_VALUE_BYTES));
        format!("{label}\n{value}")
    }

    /// Values side by side where there is room; on a phone Slack puts them one below the other.
    fn fields(&mut self, pairs: &[(String, String)]) {
        let fields: Vec<Value> =
            pairs.iter().map(|(label, value)| plain_text(&self.say(label, value, FIELD_VALUE), FIELD)).collect();
        self.block("section", json!({ "fields": fields }));
    }

    /// A value over the whole width.
    fn line(&mut self, label: &str, value: &str) {
        let shown = self.say(label, value, LINE_VALUE);
        self.block("section", json!({ "text": plain_text(&shown, SECTION) }));
    }

    fn notes(&mut self, notes: &[String]) {
        if notes.is_empty() {
            return;
        }
        let elements: Vec<Value> = notes.iter().map(|note| plain_text(note, FIELD)).collect();
        self.text.extend(notes.iter().map(|note| escape(note)));
        self.block("context", json!({ "elements": elements }));
    }

    fn buttons(&mut self, proposal: &Proposal) {
        let lang = proposal.lang;
        let (confirm, cancel, style) = match proposal.write {
            Write::AddSale { .. } => (words::confirm(lang), words::cancel(lang), "primary"),
            Write::CancelSale { .. } => (words::confirm_cancel(lang), words::keep(lang), "danger"),
        };
        let button = |action: &str, label: &str| json!({ "type": "button", "action_id": action, "text": plain_text(label, BUTTON), "value": proposal.id });
        let mut first = button(CONFIRM, &confirm);
        if let Some(first) = first.as_object_mut() {
            first.insert("style".into(), json!(style));
        }
        self.block("actions", json!({ "elements": [first, button(CANCEL, &cancel)] }));
    }

    fn finish(self) -> Body {
        let mut text = String::new();
        for line in self.text {
            // What does not fit is still on the card; the number and the customer come first.
            if text.len() + 1 + line.len() <= TEXT_BYTES {
                text.push_str(if text.is_empty() { "" } else { "\n" });
                text.push_str(&line);
            }
        }
        Body { text, blocks: Value::Array(self.blocks) }
    }
}

fn plain_text(text: &str, max: usize) -> Value {
    json!({ "type": "plain_text", "text": clamp(text, max), "emoji": false })
}

#[cfg(test)]
mod tests;
