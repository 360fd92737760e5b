//! The OAuth scopes that the app needs, and those it was granted when it was installed.
//!
//! Slack grants scopes at installation only: an app whose manifest asks for more than its installation has answers
//! `missing_scope` in the middle of a conversation. So it is found out at the start.

use std::collections::BTreeSet;

/// What manifest.yaml asks for; a test holds one to the other.
pub const NEEDED: [&str; 12] = [
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "mpim:history",
    "mpim:read",
    "users:read",
];

/// The scopes that were not granted. `header` is the value of `X-OAuth-Scopes`, which Slack sends with each answer.
pub fn missing(header: &str) -> Vec<&'static str> {
    let granted: BTreeSet<&str> = header.split(',').map(str::trim).collect();
    NEEDED.into_iter().filter(|needed| !granted.contains(needed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_granted_is_named_whatever_else_was() {
        let all = NEEDED.join(",");
        assert_eq!(missing(&all), Vec::<&str>::new());
        assert_eq!(missing(&format!("files:read, {}", NEEDED.join(" , "))), Vec::<&str>::new());
        assert_eq!(missing(&all.replace("users:read", "users:read.email")), ["users:read"]);
        assert_eq!(missing(""), NEEDED);
    }
}
