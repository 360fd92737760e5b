-- A person pressed Stop in a conversation: what was begun for them there before it ends.
CREATE TABLE stops (
    team      TEXT NOT NULL,
    channel   TEXT NOT NULL,
    root      TEXT NOT NULL,
    user_team TEXT NOT NULL,
    user      TEXT NOT NULL,
    -- Slack's time of the press
    ts        TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    PRIMARY KEY (team, channel, root, user_team, user)
) STRICT;

-- What people think of an answer: the last press of each counts.
CREATE TABLE feedback (
    turn       TEXT NOT NULL,
    team       TEXT NOT NULL,
    user       TEXT NOT NULL,
    verdict    TEXT NOT NULL CHECK (verdict IN ('good', 'bad')),
    channel    TEXT NOT NULL,
    message_ts TEXT NOT NULL,
    given_at   INTEGER NOT NULL,
    PRIMARY KEY (turn, team, user)
) STRICT;
