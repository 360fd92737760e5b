-- Who may do what. The groups cannot log in: a company grants each to a login of its own, and every connection names
-- the group it acts as (`role=…`). Groups belong to the cluster, so a second database finds them there already.
--
--   sales_concierge_owner      owns tables and functions; migrations, staff and imports act as it
--   sales_concierge_bot        proposals, clicks, outbox and what belongs to them; no right on customers and sales
--   sales_concierge_reader     the read functions, and customers and sales within the departments that are set
--   sales_concierge_committer  the two functions that write an approved sale, and nothing else
--   sales_concierge_auditor    reads the trail and seals it
DO $$
DECLARE
    name text;
    how text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END;
BEGIN
    FOREACH name IN ARRAY ARRAY['owner', 'bot', 'reader', 'committer', 'auditor'] LOOP
        name := 'sales_concierge_' || name;
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', name);
            EXCEPTION
                -- Another database of this cluster was migrated at the same moment.
                WHEN duplicate_object OR unique_violation THEN NULL;
                WHEN insufficient_privilege THEN
                    RAISE EXCEPTION 'the group % does not exist and % may not create it', name, current_user
                        USING HINT = 'Migrate with a login that has CREATEROLE, or let an administrator run: CREATE ROLE '
                                     || name || ' NOLOGIN';
            END;
        END IF;
    END LOOP;
    IF NOT pg_has_role(current_user, 'sales_concierge_owner', how) THEN
        BEGIN
            EXECUTE format('GRANT sales_concierge_owner TO %I', current_user);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL;
            WHEN insufficient_privilege THEN
                RAISE EXCEPTION '% is not a member of sales_concierge_owner', current_user
                    USING HINT = 'Let an administrator run: GRANT sales_concierge_owner TO ' || quote_ident(current_user);
        END;
    END IF;
    -- Whoever owns the tables may also read the trail and follow a proposal: `audit` and `explain`.
    FOREACH name IN ARRAY ARRAY['sales_concierge_auditor', 'sales_concierge_bot'] LOOP
        IF NOT pg_has_role(current_user, name, how) THEN
            BEGIN
                EXECUTE format('GRANT %I TO %I', name, current_user);
            EXCEPTION
                WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
            END;
        END IF;
    END LOOP;
END
$$;

-- An older cluster lets everybody create tables in `public`: names there would then not be ours alone.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO sales_concierge_owner;
GRANT USAGE ON SCHEMA public
    TO sales_concierge_bot, sales_concierge_reader, sales_concierge_committer, sales_concierge_auditor;

-- A function is open to everybody unless this says otherwise.
ALTER DEFAULT PRIVILEGES FOR ROLE sales_concierge_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

SET LOCAL ROLE sales_concierge_owner;

-- The database's clock, in milliseconds since the epoch.
CREATE FUNCTION now_ms() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;

GRANT EXECUTE ON FUNCTION now_ms()
    TO sales_concierge_bot, sales_concierge_reader, sales_concierge_committer, sales_concierge_auditor;

RESET ROLE;

-- Each part of the program asks at its start whether the schema is the one it was built for.
GRANT SELECT ON _sqlx_migrations
    TO sales_concierge_owner, sales_concierge_bot, sales_concierge_reader, sales_concierge_committer, sales_concierge_auditor;
