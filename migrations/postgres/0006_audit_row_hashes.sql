-- The hash of each row that a seal covers, so that a finding names the row and not only the seal.
SET LOCAL ROLE sales_concierge_owner;

ALTER TABLE audit_seals ADD COLUMN row_hashes text NOT NULL;
GRANT INSERT (row_hashes) ON audit_seals TO sales_concierge_bot, sales_concierge_auditor;

RESET ROLE;
