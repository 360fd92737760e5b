-- More of what led to a row, each NULL where it does not apply.
ALTER TABLE audit ADD COLUMN message TEXT;      -- the Slack message it began with: team:channel:ts
ALTER TABLE audit ADD COLUMN digest TEXT;       -- of the write
ALTER TABLE audit ADD COLUMN model TEXT;        -- the model that asked for it
ALTER TABLE audit ADD COLUMN prompt_hash TEXT;  -- SHA-256 of the instructions the model had
ALTER TABLE audit ADD COLUMN tools_hash TEXT;   -- SHA-256 of the definitions of the tools it was offered
ALTER TABLE audit ADD COLUMN result TEXT;       -- ok, or an error code

-- A seal covers a run of rows and the seal before it; docs/security.md says how both are hashed.
CREATE TABLE audit_seals (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    first_id   INTEGER NOT NULL UNIQUE,
    last_id    INTEGER NOT NULL,
    rows       INTEGER NOT NULL,
    row_hashes TEXT NOT NULL,
    hash       TEXT NOT NULL,
    previous   TEXT NOT NULL UNIQUE,
    sealed_at  INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_seals_are_append_only_update BEFORE UPDATE ON audit_seals
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_seals_are_append_only_delete BEFORE DELETE ON audit_seals
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
