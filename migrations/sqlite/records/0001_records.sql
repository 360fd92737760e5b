-- The store of record: everything whose loss would lose a decision of a person.
-- Times are milliseconds since the epoch unless the name ends in _date (YYYY-MM-DD).

CREATE TABLE staff (
    team         TEXT NOT NULL,
    user         TEXT NOT NULL,
    display_name TEXT NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('viewer', 'sales', 'manager', 'admin')),
    departments  TEXT NOT NULL CHECK (json_valid(departments)),
    active       INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
    PRIMARY KEY (team, user)
) STRICT;

CREATE TABLE customers (
    code_customer TEXT PRIMARY KEY,
    name_customer TEXT NOT NULL,
    -- NFKC, katakana, lower case, without spaces: what a search compares with
    name_search   TEXT NOT NULL,
    address       TEXT NOT NULL,
    phone         TEXT NOT NULL,
    department    TEXT NOT NULL
) STRICT;

CREATE TABLE sales (
    code_sales      TEXT PRIMARY KEY,
    code_customer   TEXT NOT NULL REFERENCES customers (code_customer),
    sales_date      TEXT NOT NULL CHECK (sales_date GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    products        TEXT NOT NULL CHECK (length(products) BETWEEN 1 AND 1000),
    price           INTEGER NOT NULL CHECK (price BETWEEN 0 AND 999999999999),
    -- slack:TEAM:USER of the person it was registered for
    registered_by   TEXT NOT NULL,
    origin          TEXT NOT NULL CHECK (origin IN ('approval', 'import', 'sample')),
    -- one sale for one approval, whatever the interleaving
    proposal_id     TEXT UNIQUE,
    digest          TEXT,
    registered_at   INTEGER NOT NULL,
    cancelled_at    INTEGER,
    cancelled_by    TEXT,
    cancel_reason   TEXT,
    cancel_proposal TEXT UNIQUE,
    cancel_digest   TEXT,
    CHECK ((origin = 'approval') = (proposal_id IS NOT NULL)),
    CHECK ((proposal_id IS NULL) = (digest IS NULL)),
    CHECK ((cancelled_at IS NULL) = (cancelled_by IS NULL))
) STRICT;

CREATE INDEX sales_by_customer ON sales (code_customer, sales_date);
CREATE INDEX sales_by_date ON sales (sales_date);
CREATE INDEX sales_by_person ON sales (registered_by, sales_date);

CREATE TABLE proposals (
    id             TEXT PRIMARY KEY,
    turn_id        TEXT NOT NULL,
    round          INTEGER NOT NULL,
    call_index     INTEGER NOT NULL,
    origin_turn    TEXT NOT NULL,
    depth          INTEGER NOT NULL DEFAULT 0,
    team           TEXT NOT NULL,
    channel        TEXT NOT NULL,
    root           TEXT NOT NULL,
    requester_team TEXT NOT NULL,
    requester_user TEXT NOT NULL,
    lang           TEXT NOT NULL CHECK (lang IN ('ja', 'en')),
    tool           TEXT NOT NULL CHECK (tool IN ('add_sale', 'cancel_sale')),
    write          TEXT NOT NULL CHECK (json_valid(write)),
    digest         TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('pending', 'awaiting_manager', 'claimed', 'done', 'failed', 'unknown',
                                                  'cancelled', 'expired', 'superseded')),
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    -- the lease of the one executor; a higher epoch fences the earlier ones off
    epoch          INTEGER NOT NULL DEFAULT 0,
    claim_until    INTEGER NOT NULL DEFAULT 0,
    claim_click    TEXT,
    decided_team   TEXT,
    decided_user   TEXT,
    decided_at     INTEGER,
    settled_at     INTEGER,
    result         TEXT CHECK (result IS NULL OR json_valid(result)),
    failure        TEXT,
    superseded_by  TEXT,
    UNIQUE (turn_id, round, call_index),
    CHECK (state NOT IN ('claimed', 'done', 'failed') OR (claim_click IS NOT NULL AND decided_user IS NOT NULL))
) STRICT;

CREATE INDEX proposals_open ON proposals (state, expires_at) WHERE state IN ('pending', 'awaiting_manager', 'claimed');
CREATE INDEX proposals_by_thread ON proposals (team, channel, root);
CREATE INDEX proposals_by_origin ON proposals (origin_turn);

-- What a card showed does not change: a change is a new proposal.
CREATE TRIGGER proposals_write_is_fixed BEFORE UPDATE OF write, digest, tool, requester_team, requester_user, turn_id ON proposals
BEGIN
    SELECT RAISE(ABORT, 'a proposal''s content never changes');
END;

-- A sale of origin 'approval' needs the claimed proposal of the same digest, whoever inserts it.
CREATE TRIGGER sales_need_an_approval BEFORE INSERT ON sales WHEN NEW.origin = 'approval'
BEGIN
    SELECT RAISE(ABORT, 'approval_required') WHERE NOT EXISTS (
        SELECT 1 FROM proposals p
        WHERE p.id = NEW.proposal_id AND p.state = 'claimed' AND p.tool = 'add_sale' AND p.digest = NEW.digest);
END;

CREATE TRIGGER sales_cancel_needs_an_approval BEFORE UPDATE OF cancelled_at ON sales WHEN NEW.cancelled_at IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'approval_required') WHERE NOT EXISTS (
        SELECT 1 FROM proposals p
        WHERE p.id = NEW.cancel_proposal AND p.state = 'claimed' AND p.tool = 'cancel_sale' AND p.digest = NEW.cancel_digest);
END;

CREATE TRIGGER sales_are_never_deleted BEFORE DELETE ON sales WHEN OLD.origin = 'approval'
BEGIN
    SELECT RAISE(ABORT, 'a registered sale is cancelled, never deleted');
END;

-- One row for each press; the row is the due work, so a stored press is carried out without another one.
CREATE TABLE clicks (
    id           TEXT PRIMARY KEY,
    proposal_id  TEXT NOT NULL,
    action       TEXT NOT NULL CHECK (action IN ('confirm', 'cancel')),
    team         TEXT NOT NULL,
    user         TEXT NOT NULL,
    channel      TEXT NOT NULL,
    message_ts   TEXT NOT NULL,
    response_url TEXT NOT NULL,
    -- hex SHA-256 of the signed body
    body_hash    TEXT NOT NULL,
    received_at  INTEGER NOT NULL,
    handled_at   INTEGER,
    outcome      TEXT
) STRICT;

CREATE INDEX clicks_due ON clicks (received_at) WHERE handled_at IS NULL;
CREATE INDEX clicks_by_proposal ON clicks (proposal_id);

-- One row for each message we own in Slack: what it should say, and what Slack was last seen to have.
CREATE TABLE outbox (
    key          TEXT PRIMARY KEY,
    kind         TEXT NOT NULL CHECK (kind IN ('message', 'ephemeral')),
    channel      TEXT NOT NULL,
    thread_ts    TEXT,
    -- the person an ephemeral message is for
    user         TEXT,
    body         TEXT NOT NULL CHECK (json_valid(body)),
    version      INTEGER NOT NULL DEFAULT 1,
    sent_version INTEGER NOT NULL DEFAULT 0,
    posted_ts    TEXT,
    -- a post was begun and its outcome is not known: look before posting again
    begun        INTEGER NOT NULL DEFAULT 0,
    attempts     INTEGER NOT NULL DEFAULT 0,
    due_at       INTEGER NOT NULL,
    lease_until  INTEGER NOT NULL DEFAULT 0,
    given_up     TEXT,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX outbox_due ON outbox (due_at) WHERE sent_version < version AND given_up IS NULL;

-- What a settled proposal adds to its conversation; copied into the history once, in order of id.
CREATE TABLE history_events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    thread     TEXT NOT NULL,
    event      TEXT NOT NULL CHECK (json_valid(event)),
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX history_events_by_thread ON history_events (thread, id);

-- One more run of the loop for a request whose proposals are all decided.
CREATE TABLE continuations (
    -- the turn whose proposals are decided, and the request they belong to: a turn's card may have replaced another
    -- request's
    turn        TEXT NOT NULL,
    origin_turn TEXT NOT NULL,
    thread      TEXT NOT NULL CHECK (json_valid(thread)),
    team        TEXT NOT NULL,
    user        TEXT NOT NULL,
    depth       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    enqueued_at INTEGER,
    PRIMARY KEY (turn, origin_turn)
) STRICT;

CREATE INDEX continuations_due ON continuations (created_at) WHERE enqueued_at IS NULL;

CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    on_behalf  TEXT NOT NULL,
    event      TEXT NOT NULL,
    tool       TEXT,
    risk       TEXT NOT NULL CHECK (risk IN ('low', 'medium', 'high', 'critical')),
    proposal   TEXT,
    detail     TEXT NOT NULL CHECK (json_valid(detail))
) STRICT;

CREATE INDEX audit_by_proposal ON audit (proposal) WHERE proposal IS NOT NULL;

CREATE TRIGGER audit_is_append_only_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_is_append_only_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;

-- Small facts about the store itself, such as when the sample data was dated.
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
