-- The store of record but for customers and sales: everything whose loss would lose a decision of a person.
-- Times are milliseconds since the epoch. JSON stands as text, since its exact bytes are part of what is signed.
-- Keys sort by code point ("C"), so that both engines list rows in one order.
SET LOCAL ROLE sales_concierge_owner;

CREATE TABLE staff (
    team         text COLLATE "C" NOT NULL CHECK (strpos(team, ':') = 0),
    "user"       text COLLATE "C" NOT NULL CHECK (strpos("user", ':') = 0),
    display_name text NOT NULL,
    role         text NOT NULL CHECK (role IN ('viewer', 'sales', 'manager', 'admin')),
    departments  text NOT NULL CHECK (json_typeof(departments::json) = 'array'),
    active       boolean NOT NULL DEFAULT true,
    PRIMARY KEY (team, "user")
);

-- slack:TEAM:USER, as it stands in sales and tokens
CREATE UNIQUE INDEX staff_by_subject ON staff (('slack:' || team || ':' || "user"));

CREATE TABLE proposals (
    id             text COLLATE "C" PRIMARY KEY,
    turn_id        text COLLATE "C" NOT NULL,
    round          bigint NOT NULL,
    call_index     bigint NOT NULL,
    origin_turn    text COLLATE "C" NOT NULL,
    depth          bigint NOT NULL DEFAULT 0,
    team           text COLLATE "C" NOT NULL,
    channel        text COLLATE "C" NOT NULL,
    root           text COLLATE "C" NOT NULL,
    requester_team text COLLATE "C" NOT NULL,
    requester_user text COLLATE "C" NOT NULL,
    lang           text NOT NULL CHECK (lang IN ('ja', 'en')),
    tool           text NOT NULL CHECK (tool IN ('add_sale', 'cancel_sale')),
    write          text NOT NULL CHECK (json_typeof(write::json) IS NOT NULL),
    digest         text COLLATE "C" NOT NULL,
    state          text COLLATE "C" NOT NULL
        CHECK (state IN ('pending', 'awaiting_manager', 'claimed', 'done', 'failed', 'unknown', 'cancelled', 'expired',
                         'superseded')),
    created_at     bigint NOT NULL,
    expires_at     bigint NOT NULL,
    -- the lease of the one executor; a higher epoch fences the earlier ones off
    epoch          bigint NOT NULL DEFAULT 0,
    claim_until    bigint NOT NULL DEFAULT 0,
    claim_click    text COLLATE "C",
    decided_team   text COLLATE "C",
    decided_user   text COLLATE "C",
    decided_at     bigint,
    settled_at     bigint,
    result         text CHECK (result IS NULL OR json_typeof(result::json) IS NOT NULL),
    failure        text,
    superseded_by  text COLLATE "C",
    -- why the outcome of a claimed write is not known yet, and how often it stayed so
    trouble        text,
    tries          bigint NOT NULL DEFAULT 0,
    -- where the values on the card came from
    grounds        text NOT NULL DEFAULT '{}' CHECK (json_typeof(grounds::json) IS NOT NULL),
    UNIQUE (turn_id, round, call_index),
    CHECK (state NOT IN ('claimed', 'done', 'failed') OR (claim_click IS NOT NULL AND decided_user IS NOT NULL))
);

CREATE INDEX proposals_open ON proposals (state, expires_at) WHERE state IN ('pending', 'awaiting_manager', 'claimed');
CREATE INDEX proposals_by_thread ON proposals (team, channel, root);
CREATE INDEX proposals_by_origin ON proposals (origin_turn);

CREATE FUNCTION refuse() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END
$$;

-- What a card showed does not change: a change is a new proposal.
CREATE TRIGGER proposals_write_is_fixed
    BEFORE UPDATE OF id, write, grounds, digest, tool, requester_team, requester_user, turn_id ON proposals
    FOR EACH ROW EXECUTE FUNCTION refuse('a proposal''s content never changes');

-- One row for each press; the row is the due work, so a stored press is carried out without another one.
CREATE TABLE clicks (
    id           text COLLATE "C" PRIMARY KEY,
    proposal_id  text COLLATE "C" NOT NULL,
    action       text NOT NULL CHECK (action IN ('confirm', 'cancel')),
    team         text COLLATE "C" NOT NULL,
    "user"       text COLLATE "C" NOT NULL,
    channel      text COLLATE "C" NOT NULL,
    message_ts   text COLLATE "C" NOT NULL,
    response_url text NOT NULL,
    -- hex SHA-256 of the signed body
    body_hash    text NOT NULL,
    received_at  bigint NOT NULL,
    handled_at   bigint,
    outcome      text
);

CREATE INDEX clicks_due ON clicks (received_at) WHERE handled_at IS NULL;
CREATE INDEX clicks_by_proposal ON clicks (proposal_id);

-- One row for each message we own in Slack: what it should say, and what Slack was last seen to have.
CREATE TABLE outbox (
    key          text COLLATE "C" PRIMARY KEY,
    kind         text NOT NULL CHECK (kind IN ('message', 'ephemeral')),
    channel      text COLLATE "C" NOT NULL,
    thread_ts    text COLLATE "C",
    -- the person an ephemeral message is for
    "user"       text COLLATE "C",
    body         text NOT NULL CHECK (json_typeof(body::json) IS NOT NULL),
    version      bigint NOT NULL DEFAULT 1,
    sent_version bigint NOT NULL DEFAULT 0,
    posted_ts    text COLLATE "C",
    -- a post was begun and its outcome is not known: look before posting again
    begun        bigint NOT NULL DEFAULT 0,
    attempts     bigint NOT NULL DEFAULT 0,
    due_at       bigint NOT NULL,
    lease_until  bigint NOT NULL DEFAULT 0,
    given_up     text,
    created_at   bigint NOT NULL
);

CREATE INDEX outbox_due ON outbox (due_at) WHERE sent_version < version AND given_up IS NULL;
-- Whether the bot has said something in a thread is asked when the store of work does not know.
CREATE INDEX outbox_by_thread ON outbox (channel, thread_ts);

-- What a settled proposal adds to its conversation; copied into the history once, in order of id.
CREATE TABLE history_events (
    id         bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    thread     text COLLATE "C" NOT NULL,
    event      text NOT NULL CHECK (json_typeof(event::json) IS NOT NULL),
    created_at bigint NOT NULL
);

CREATE INDEX history_events_by_thread ON history_events (thread, id);

-- One more run of the loop for a request whose proposals are all decided.
CREATE TABLE continuations (
    -- the turn whose proposals are decided, and the request they belong to: a turn's card may have replaced another
    -- request's
    turn        text COLLATE "C" NOT NULL,
    origin_turn text COLLATE "C" NOT NULL,
    thread      text NOT NULL CHECK (json_typeof(thread::json) IS NOT NULL),
    team        text COLLATE "C" NOT NULL,
    "user"      text COLLATE "C" NOT NULL,
    depth       bigint NOT NULL,
    created_at  bigint NOT NULL,
    ended_at    bigint,
    -- the process that carries it on, until when it is believed to live, and what fences earlier ones off
    taken_by    text COLLATE "C",
    taken_until bigint NOT NULL DEFAULT 0,
    epoch       bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (turn, origin_turn)
);

CREATE INDEX continuations_due ON continuations (created_at) WHERE ended_at IS NULL;

CREATE TABLE audit (
    id          bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at          bigint NOT NULL,
    actor       text NOT NULL,
    on_behalf   text NOT NULL,
    -- the Slack message it began with
    message     text,
    event       text NOT NULL,
    tool        text,
    risk        text NOT NULL CHECK (risk IN ('low', 'medium', 'high', 'critical')),
    proposal    text COLLATE "C",
    digest      text,
    model       text,
    prompt_hash text,
    tools_hash  text,
    result      text,
    detail      text NOT NULL CHECK (json_typeof(detail::json) IS NOT NULL)
);

CREATE INDEX audit_by_proposal ON audit (proposal) WHERE proposal IS NOT NULL;

-- A seal covers a run of rows and the seal before it.
CREATE TABLE audit_seals (
    id        bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    first_id  bigint NOT NULL UNIQUE,
    last_id   bigint NOT NULL,
    rows      bigint NOT NULL,
    hash      text NOT NULL,
    previous  text NOT NULL UNIQUE,
    sealed_at bigint NOT NULL
);

CREATE UNIQUE INDEX audit_seals_by_end ON audit_seals (last_id);

CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('audit is append-only');
CREATE TRIGGER audit_seals_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seals
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('audit is append-only');

-- The newest row before which no other can appear any more. Numbers are given before they are committed, and whoever
-- appends holds its lock on the table before it gets one: so it waits for those who hold that lock now, and nobody waits
-- for it. It gives up soon; the next round comes anyway.
CREATE FUNCTION audit_barrier() RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    newest    bigint;
    appending text[];
BEGIN
    SELECT coalesce(max(id), 0) INTO newest FROM audit;
    FOR try IN 0..50 LOOP
        IF try = 0 THEN
            appending := ARRAY(
                SELECT l.virtualtransaction FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                WHERE d.datname = current_database() AND l.relation = 'audit'::regclass
                  AND l.mode = 'RowExclusiveLock' AND l.granted);
        ELSE
            PERFORM pg_sleep(0.01);
        END IF;
        IF NOT EXISTS (
            SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
            WHERE d.datname = current_database() AND l.relation = 'audit'::regclass
              AND l.mode = 'RowExclusiveLock' AND l.granted AND l.virtualtransaction = ANY (appending)) THEN
            RETURN newest;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'rows are being appended to the audit' USING ERRCODE = 'lock_not_available';
END
$$;

-- Small facts about the store itself.
CREATE TABLE facts (
    name  text PRIMARY KEY,
    value text NOT NULL
);

-- Above its department's limit a sale needs the approval of a manager other than the requester. `*` stands for all
-- departments that have no row of their own; without any row there is no limit.
CREATE TABLE amount_limits (
    department text COLLATE "C" PRIMARY KEY,
    limit_yen  bigint NOT NULL CHECK (limit_yen >= 0)
);

GRANT SELECT, INSERT ON proposals, clicks, outbox, history_events, continuations TO sales_concierge_bot;
-- Nothing that a card showed.
GRANT UPDATE (state, expires_at, epoch, claim_until, claim_click, decided_team, decided_user, decided_at, settled_at,
              result, failure, superseded_by, trouble, tries) ON proposals TO sales_concierge_bot;
GRANT UPDATE (handled_at, outcome) ON clicks TO sales_concierge_bot;
GRANT UPDATE, DELETE ON outbox TO sales_concierge_bot;
GRANT UPDATE (ended_at, taken_by, taken_until, epoch) ON continuations TO sales_concierge_bot;
GRANT DELETE ON history_events, continuations TO sales_concierge_bot;
GRANT SELECT ON staff, facts, amount_limits TO sales_concierge_bot;

-- The database numbers the rows of the trail: nobody may choose a number.
GRANT INSERT (at, actor, on_behalf, message, event, tool, risk, proposal, digest, model, prompt_hash, tools_hash,
              result, detail) ON audit TO sales_concierge_bot, sales_concierge_reader;
GRANT SELECT ON audit, audit_seals TO sales_concierge_bot, sales_concierge_auditor;
GRANT INSERT (first_id, last_id, rows, hash, previous, sealed_at) ON audit_seals
    TO sales_concierge_bot, sales_concierge_auditor;
GRANT EXECUTE ON FUNCTION audit_barrier() TO sales_concierge_bot, sales_concierge_auditor;

GRANT SELECT ON staff TO sales_concierge_reader;

RESET ROLE;
