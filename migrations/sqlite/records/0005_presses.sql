-- A continuation is taken by one bot, under a lease, until its run has ended. Those that were enqueued are taken to have
-- ended: the job in the work file is all that is left to do.
ALTER TABLE continuations RENAME COLUMN enqueued_at TO ended_at;
ALTER TABLE continuations ADD COLUMN taken_by TEXT;
ALTER TABLE continuations ADD COLUMN taken_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE continuations ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;

-- Why the outcome of a claimed write is not known yet, and how often it stayed so.
ALTER TABLE proposals ADD COLUMN trouble TEXT;
ALTER TABLE proposals ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;

-- The newest seal, and the one that covers a row, are looked for by their end.
CREATE UNIQUE INDEX audit_seals_by_end ON audit_seals (last_id);
