-- Above its department's limit a sale needs the approval of a manager other than the requester. `*` stands for all
-- departments that have no row of their own; without any row there is no limit.
CREATE TABLE amount_limits (
    department TEXT PRIMARY KEY,
    limit_yen  INTEGER NOT NULL CHECK (limit_yen >= 0)
) STRICT;

CREATE TRIGGER sales_above_the_limit_need_a_manager BEFORE INSERT ON sales WHEN NEW.origin = 'approval'
BEGIN
    SELECT RAISE(ABORT, 'the amount is above the limit')
    FROM customers c
    WHERE c.code_customer = NEW.code_customer
      AND NEW.price > (SELECT l.limit_yen FROM amount_limits l WHERE l.department IN (c.department, '*')
                       ORDER BY l.department = '*' LIMIT 1)
      AND NOT EXISTS (
          SELECT 1 FROM proposals p JOIN staff s ON s.team = p.decided_team AND s.user = p.decided_user
          WHERE p.id = NEW.proposal_id AND s.active
            AND (p.decided_team <> p.requester_team OR p.decided_user <> p.requester_user)
            AND (s.role = 'admin'
                 OR (s.role = 'manager' AND c.department IN (SELECT value FROM json_each(s.departments)))));
END;
