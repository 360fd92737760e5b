-- The store of work: what may be lost without losing a decision. Times are milliseconds since the epoch.

CREATE TABLE seen (
    key TEXT PRIMARY KEY,
    at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX seen_by_age ON seen (at);

CREATE TABLE jobs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    thread     TEXT NOT NULL,
    job        TEXT NOT NULL CHECK (json_valid(job)),
    state      TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    due_at     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX jobs_by_thread ON jobs (thread, id);

-- One worker at a time in a thread. A higher epoch fences the earlier ones off.
CREATE TABLE leases (
    thread TEXT PRIMARY KEY,
    epoch  INTEGER NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
    thread TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    turn   TEXT NOT NULL,
    round  INTEGER NOT NULL,
    items  TEXT NOT NULL CHECK (json_valid(items)),
    -- what the row costs when it is shown to a model again
    tokens INTEGER NOT NULL,
    -- what the model used for the turn, on its answer
    spent  INTEGER NOT NULL DEFAULT 0,
    at     INTEGER NOT NULL,
    PRIMARY KEY (thread, seq),
    UNIQUE (thread, turn, round)
) STRICT, WITHOUT ROWID;

CREATE TABLE threads (
    thread        TEXT PRIMARY KEY,
    -- the last history_events.id of the store of record that was copied into the history
    applied_event INTEGER NOT NULL DEFAULT 0,
    tokens        INTEGER NOT NULL DEFAULT 0,
    -- the bot was addressed here: a reply without mention is meant for it
    joined        INTEGER NOT NULL DEFAULT 0,
    -- when the last job came in
    at            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX threads_by_age ON threads (at);

CREATE TRIGGER history_counts_tokens AFTER INSERT ON history WHEN NEW.spent > 0
BEGIN
    UPDATE threads SET tokens = tokens + NEW.spent WHERE thread = NEW.thread;
END;
