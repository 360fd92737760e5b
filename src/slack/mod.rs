//! Everything that knows Slack: its signatures, payloads, Web API, limits and ways to show text.
//!
//! What it promises: nothing unsigned gets past [`signature`], nothing a model or a database wrote gets out as a ping,
//! a link or a button ([`text`], [`cards`]), and a call never hangs or hides whether it may have happened ([`client`]).
//! It knows no agent, no store and no policy.

pub mod cards;
pub mod client;
pub mod inbound;
pub mod signature;
pub mod text;

#[cfg(test)]
mod tests {
    /// The items of one list of the manifest.
    fn list(key: &str) -> Vec<&'static str> {
        include_str!("../../manifest.yaml")
            .lines()
            .map(str::trim)
            .skip_while(|line| *line != format!("{key}:"))
            .skip(1)
            .map_while(|line| line.strip_prefix("- "))
            .map(|item| item.split(" #").next().unwrap_or(item).trim())
            .collect()
    }

    #[test]
    fn the_manifest_requests_exactly_the_scopes_we_use() {
        // Beside each: the method or event that Slack refuses without it.
        let used = [
            ("app_mentions:read", "app_mention"),
            ("assistant:write", "assistant.threads.*"),
            ("channels:history", "message.channels, conversations.replies"),
            ("channels:read", "conversations.info"),
            ("chat:write", "chat.*"),
            ("groups:history", "message.groups, conversations.replies"),
            ("groups:read", "conversations.info"),
            ("im:history", "message.im, conversations.replies"),
            ("im:read", "conversations.info"),
            ("im:write", "conversations.open"),
            ("mpim:history", "message.mpim, conversations.replies"),
            ("mpim:read", "conversations.info"),
            ("users:read", "users.info"),
        ];
        assert_eq!(list("bot"), used.map(|(scope, _)| scope));
    }

    #[test]
    fn the_manifest_subscribes_to_exactly_the_events_we_read() {
        let read =
            ["app_home_opened", "app_mention", "message.channels", "message.groups", "message.im", "message.mpim"];
        assert_eq!(list("bot_events"), read);
    }
}
