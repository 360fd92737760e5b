-- Where the values on a card came from. Part of a proposal's content, so it never changes either.
ALTER TABLE proposals ADD COLUMN grounds TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(grounds));

DROP TRIGGER proposals_write_is_fixed;
CREATE TRIGGER proposals_write_is_fixed
BEFORE UPDATE OF write, grounds, digest, tool, requester_team, requester_user, turn_id ON proposals
BEGIN
    SELECT RAISE(ABORT, 'a proposal''s content never changes');
END;
