//! Slack's form of a text, turned into what people see.
//!
//! What it promises: any text is read without failing; only the bot's own mention is taken out; what was escaped is
//! unescaped exactly once, and nothing invisible comes through.

use crate::domain::UserId;
use crate::slack::text::visible;

/// A message's text as its reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable {
    /// Unescaped, without the bot's own mention, other tokens as people see them.
    pub text: String,
    /// The bot itself is mentioned.
    pub mentions_me: bool,
    /// Someone or some group besides the bot is mentioned.
    pub mentions_others: bool,
}

/// Slack's text as its reader sees it. A literal `<` only ever begins one of Slack's tokens: what people type is
/// escaped, so that `&lt;@U0BOT&gt;` is no mention.
pub fn readable(raw: &str, me: &UserId) -> Readable {
    let mut out = Readable { text: String::with_capacity(raw.len()), mentions_me: false, mentions_others: false };
    let mut rest = raw;
    while let Some((before, from)) = rest.split_once('<') {
        out.text.push_str(&unescape(before));
        let Some((token, after)) = from.split_once('>') else {
            out.text.push('<');
            rest = from;
            break;
        };
        rest = after;
        let (target, label) = token.split_once('|').map_or((token, ""), |(target, label)| (target, label));
        if let Some(user) = target.strip_prefix('@') {
            if user == me.as_str() {
                out.mentions_me = true;
                if out.text.is_empty() || out.text.ends_with(char::is_whitespace) {
                    rest = rest.trim_start_matches([' ', '\u{3000}']);
                }
                continue;
            }
            out.mentions_others = true;
        }
        let is_group = ["!subteam^", "!here", "!channel", "!everyone"].iter().any(|start| target.starts_with(start));
        out.mentions_others |= is_group;
        out.text.push_str(&unescape(&shown(target, label)));
    }
    out.text.push_str(&unescape(rest));
    out.text = visible(&out.text).trim().to_owned();
    out
}

/// A token other than the bot's own mention, still escaped.
fn shown(target: &str, label: &str) -> String {
    let named = |mark: char, id: &str| {
        let name = if label.is_empty() { id } else { label };
        if name.starts_with(mark) { name.to_owned() } else { format!("{mark}{name}") }
    };
    if let Some(user) = target.strip_prefix('@') {
        return named('@', user);
    }
    if let Some(channel) = target.strip_prefix('#') {
        return named('#', channel);
    }
    if let Some(command) = target.strip_prefix('!') {
        return match command.split_once('^') {
            Some(("subteam", group)) => named('@', group),
            _ if matches!(command, "here" | "channel" | "everyone") => named('@', command),
            _ if label.is_empty() => command.split('^').next().unwrap_or(command).to_owned(),
            _ => label.to_owned(),
        };
    }
    let address = target.strip_prefix("mailto:").or_else(|| target.strip_prefix("tel:")).unwrap_or(target);
    let bare = |s: &str| {
        let s = s.strip_prefix("https://").or_else(|| s.strip_prefix("http://")).unwrap_or(s);
        s.trim_end_matches('/').to_owned()
    };
    if label.is_empty() || bare(label) == bare(address) { address.to_owned() } else { format!("{label} ({address})") }
}

/// Undoes Slack's three escapes, once: `&amp;lt;` is the text `&lt;`.
pub fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
