//! How a workspace can be told to misbehave, for tests and the curious.

use std::time::Duration;

/// How a Web API method misbehaves.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Answers late.
    Delay(Duration),
    /// Does nothing and answers this status.
    Status(u16),
    /// Does nothing and answers 429 with `Retry-After`, in seconds.
    RateLimited(u64),
    /// Does it, and never answers.
    HangAfterAccept,
    /// Does it, and answers this status.
    StatusAfterAccept(u16),
    /// Does nothing and answers 200 with a page of HTML.
    Html,
    /// Does nothing and answers 200 with this body as JSON, whatever it is.
    Garbled(String),
    /// Does it, and answers 200 with this body as JSON, whatever it is.
    GarbledAfterAccept(String),
    /// Does nothing and answers 200 with `ok:false` and this code.
    OkFalse(String),
    /// Ends the stream that the call is about, as Slack does after some minutes; then carries the call out.
    StreamCloses,
}

/// How the events of one happening are delivered otherwise than they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misdelivery {
    /// Twice, at the same time, as if by two of Slack's machines.
    Duplicate,
    /// Again after they were accepted, as a retry: Slack has not seen the answer.
    AckLost,
    /// After those of the next happening; after two seconds if nothing happens.
    Reordered,
    /// Late.
    Delayed(Duration),
    /// Never: Slack delivers at least once, but a bot must bear a disabled subscription.
    Lost,
    /// The two events of a mention one after the other, `message` first.
    MessageBeforeMention,
    /// The two events of a mention one after the other, `app_mention` first.
    MentionBeforeMessage,
}

/// What Slack says of the app's token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Installation {
    /// It is good.
    #[default]
    Active,
    /// `token_revoked`: the app was uninstalled.
    Revoked,
    /// `token_expired`.
    Expired,
    /// `account_inactive`: the bot user or the workspace is no more.
    Inactive,
}
