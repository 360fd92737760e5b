//! What Slack's composer makes of what a person types: the escaped text with its `<…>` tokens, and `rich_text` blocks.

use serde_json::{Value, json};

use super::hub::Hub;
use super::world::World;

/// Slack's three escapes, for text that a person typed.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub(super) fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

impl Hub {
    /// Typed text in Slack's form: escaped; `@handle` of the bot, a person or a group, `@here` and its like, `#channel`
    /// and web addresses as tokens.
    pub(crate) fn typed(&self, text: &str) -> String {
        let world = self.world();
        let names = names(&world);
        let escaped = escape(text);
        let mut out = String::new();
        let mut rest = escaped.as_str();
        while let Some(first) = rest.chars().next() {
            let inside_a_word = out.chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric());
            let token = if inside_a_word { None } else { token(&world, &names, rest) };
            match token {
                Some((token, left)) => {
                    out.push_str(&token);
                    rest = left;
                }
                None => {
                    out.push(first);
                    rest = rest.get(first.len_utf8()..).unwrap_or("");
                }
            }
        }
        out
    }
}

/// What can follow an `@`, and the token it becomes.
fn names(world: &World) -> Vec<(&str, String)> {
    let people = world.users().iter().map(|u| (u.name.as_str(), &u.id));
    let people = people.chain([(world.bot.name.as_str(), &world.bot.user)]);
    let groups = world.groups().iter().map(|g| (g.handle.as_str(), format!("<!subteam^{}|@{}>", g.id, g.handle)));
    let all = ["here", "channel", "everyone"].map(|word| (word, format!("<!{word}>")));
    people.map(|(name, id)| (name, format!("<@{id}>"))).chain(groups).chain(all).collect()
}

/// The token that a text begins with, and what follows it.
fn token<'t>(world: &World, names: &[(&str, String)], text: &'t str) -> Option<(String, &'t str)> {
    if let Some(after) = text.strip_prefix('@') {
        // A handle is ASCII and ends where another character begins: 「@conciergeの」 mentions too.
        let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(after.len());
        let (handle, left) = after.split_at_checked(end)?;
        let (_, token) = names.iter().find(|(name, _)| *name == handle)?;
        return Some((token.clone(), left));
    }
    if let Some(after) = text.strip_prefix('#') {
        let open = world.channels().filter(|c| !c.is_private && !c.name.is_empty());
        let channel = open.filter(|c| after.starts_with(&c.name)).max_by_key(|c| c.name.len())?;
        let left = after.strip_prefix(channel.name.as_str())?;
        return Some((format!("<#{}|{}>", channel.id, channel.name), left));
    }
    let address = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme).map(|_| scheme.len()))?;
    let ends = |c: char| c.is_whitespace() || "\"'、。，」』）】｣".contains(c);
    let end = text.find(ends).unwrap_or(text.len());
    let (whole, _) = text.split_at_checked(end)?;
    let whole = ["&lt;", "&gt;"].iter().fold(whole, |whole, mark| whole.split(mark).next().unwrap_or(whole));
    let whole = whole.trim_end_matches(['.', ',', '!', '?', ';', ':', ')']);
    (whole.len() > address).then(|| (format!("<{whole}>"), text.strip_prefix(whole).unwrap_or("")))
}

/// What the composer makes of a text in Slack's form: one `rich_text` block.
pub(super) fn typed_blocks(text: &str, block_id: &str) -> Value {
    let mut elements = Vec::new();
    let mut words = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let Some((inside, left)) = after.split_once('>') else { break };
        words.push_str(before);
        match inline(inside) {
            Some(element) => {
                flush(&mut words, &mut elements);
                elements.push(element);
            }
            None => words.push_str(&format!("<{inside}>")),
        }
        rest = left;
    }
    words.push_str(rest);
    flush(&mut words, &mut elements);
    json!([{"type": "rich_text", "block_id": block_id, "elements": [{"type": "rich_text_section", "elements": elements}]}])
}

fn flush(words: &mut String, elements: &mut Vec<Value>) {
    if !words.is_empty() {
        elements.push(json!({"type": "text", "text": unescape(words)}));
        words.clear();
    }
}

/// The element that a token stands for.
fn inline(inside: &str) -> Option<Value> {
    let (what, label) = inside.split_once('|').map_or((inside, None), |(what, label)| (what, Some(label)));
    if let Some(user) = what.strip_prefix('@') {
        return Some(json!({"type": "user", "user_id": user}));
    }
    if let Some(channel) = what.strip_prefix('#') {
        return Some(json!({"type": "channel", "channel_id": channel}));
    }
    if let Some(group) = what.strip_prefix("!subteam^") {
        return Some(json!({"type": "usergroup", "usergroup_id": group}));
    }
    if let Some(range) = what.strip_prefix('!') {
        return Some(json!({"type": "broadcast", "range": range}));
    }
    let url = ["http://", "https://", "mailto:", "tel:"].iter().any(|scheme| what.starts_with(scheme));
    url.then(|| match label {
        Some(label) => json!({"type": "link", "url": unescape(what), "text": unescape(label)}),
        None => json!({"type": "link", "url": unescape(what)}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Clock, UserId};
    use crate::playground::workspace::{Channel, Group, Seed, Settings};

    fn hub() -> Hub {
        let mut seed = Seed::small();
        seed.channels.push(Channel::public("C3", "sales-東京", &["U1"]));
        seed.channels.push(Channel::private("C4", "secret", &["U1"]));
        let members = vec![UserId::new("U1")];
        seed.groups.push(Group { id: "S1".into(), handle: "sellers".into(), name: "Sellers".into(), members });
        Hub::new(Settings::new(seed, Clock::system()), String::new(), None, &[])
    }

    #[test]
    fn what_is_typed_becomes_tokens_and_everything_else_is_escaped() {
        let hub = hub();
        for (typed, text) in [
            ("@concierge 佐藤さん", "<@UBOT> 佐藤さん"),
            ("@conciergeさん、@jane?", "<@UBOT>さん、<@U2>?"),
            ("a@concierge.example @nobody @", "a@concierge.example @nobody @"),
            ("<@UBOT> & <!channel>", "&lt;@UBOT&gt; &amp; &lt;!channel&gt;"),
            ("@sellers と @here", "<!subteam^S1|@sellers> と <!here>"),
            ("#sales #sales-東京で #secret #", "<#C1|sales> <#C3|sales-東京>で #secret #"),
            ("https://a.example/?x=1&y=2、次", "<https://a.example/?x=1&amp;y=2>、次"),
            ("(http://a.example/b).", "(<http://a.example/b>)."),
            ("<https://a.example> https://", "&lt;<https://a.example>&gt; https://"),
            ("xhttps://a.example", "xhttps://a.example"),
        ] {
            assert_eq!(hub.typed(typed), text);
        }
    }

    #[test]
    fn tokens_are_elements_of_their_own() {
        let blocks = typed_blocks(
            "a &amp; <@U1>と<!subteam^S1|@sellers> <#C1|sales> <https://a.example?x&amp;y|here> <x> <",
            "b",
        );
        assert_eq!(
            blocks[0]["elements"][0]["elements"],
            json!([
                {"type": "text", "text": "a & "},
                {"type": "user", "user_id": "U1"},
                {"type": "text", "text": "と"},
                {"type": "usergroup", "usergroup_id": "S1"},
                {"type": "text", "text": " "},
                {"type": "channel", "channel_id": "C1"},
                {"type": "text", "text": " "},
                {"type": "link", "url": "https://a.example?x&y", "text": "here"},
                {"type": "text", "text": " <x> <"},
            ])
        );
    }
}
