-- The two writes. Each is one statement and thereby one transaction, run as the owner; whoever calls needs the right to
-- execute it and no other.
--
-- What must hold before a row is written: the claimed proposal exists, was decided by the approver, belongs to the
-- requester, and its digest equals the one given and the one computed here from the arguments and the customer's name and
-- department as they are stored now; the rights of both people at this moment; the amount limit. The same approval
-- again gives the first row back, and that question comes before every other one: a person revoked between the commit and
-- the repeat must not turn a sale that exists into a refusal.
SET LOCAL ROLE sales_concierge_owner;

-- Hex SHA-256 of a write in canonical form (RFC 8785): keys in their order, no white space, strings escaped as
-- PostgreSQL escapes them in JSON, which is the same.
CREATE FUNCTION digest_of_sale(sale sale_rows) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN encode(sha256(convert_to(
        '{"code_customer":' || to_json((sale).code_customer) || ',"date_sales":' || to_json((sale).date_sales)
        || ',"department":' || to_json((sale).department) || ',"name_customer":' || to_json((sale).name_customer)
        || ',"price":' || (sale).price || ',"products":' || to_json((sale).products) || ',"tool":"add_sale"}',
        'UTF8')), 'hex');

CREATE FUNCTION digest_of_cancellation(sale sale_rows, reason text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN encode(sha256(convert_to(
        '{"code_customer":' || to_json((sale).code_customer) || ',"code_sales":' || to_json((sale).code_sales)
        || ',"date_sales":' || to_json((sale).date_sales) || ',"department":' || to_json((sale).department)
        || ',"name_customer":' || to_json((sale).name_customer) || ',"price":' || (sale).price
        || ',"products":' || to_json((sale).products) || ',"reason":' || to_json(reason) || ',"tool":"cancel_sale"}',
        'UTF8')), 'hex');

-- What stands between this approval and a write; NULL when nothing does.
CREATE FUNCTION refusal_of_approval(p_proposal text, p_digest text, p_requester text, p_approver text, p_tool text)
    RETURNS text
    LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT coalesce((
        SELECT CASE
            WHEN p.state <> 'claimed' OR p.tool <> p_tool
                 OR 'slack:' || p.requester_team || ':' || p.requester_user <> p_requester
                 OR 'slack:' || p.decided_team || ':' || p.decided_user IS DISTINCT FROM p_approver
                THEN 'approval_invalid'
            WHEN p.digest <> p_digest THEN 'approval_mismatch'
            -- Who may write at all.
            WHEN coalesce((SELECT r.role FROM rights_of(p_requester) AS r), 'viewer') = 'viewer' THEN 'not_allowed'
            ELSE ''
        END
        FROM proposals p WHERE p.id = p_proposal), 'approval_invalid');
END;

CREATE FUNCTION sees(p_subject text, p_department text) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN coalesce((SELECT r.departments && ARRAY['*', p_department] FROM rights_of(p_subject) AS r), false);

-- Whether this person may approve a sale of this amount for the requester: up to the department's limit the requester
-- alone, above it a manager of the department other than the requester.
CREATE FUNCTION may_approve(p_approver text, p_requester text, p_department text, p_price bigint) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN CASE
        WHEN p_price > (SELECT l.limit_yen FROM amount_limits l WHERE l.department IN (p_department, '*')
                        ORDER BY l.department = '*' LIMIT 1)
        THEN p_approver <> p_requester AND sees(p_approver, p_department)
             AND coalesce((SELECT r.role IN ('manager', 'admin') FROM rights_of(p_approver) AS r), false)
        ELSE p_approver = p_requester
    END;

CREATE FUNCTION audit_write(p_event text, p_tool text, p_proposal text, p_digest text, p_requester text,
                            p_approver text, p_code_sales text) RETURNS void
    LANGUAGE sql VOLATILE
BEGIN ATOMIC
    INSERT INTO audit (at, actor, on_behalf, event, tool, risk, proposal, digest, result, detail)
    VALUES (now_ms(), 'sales-server', p_requester, p_event, p_tool, CASE p_tool WHEN 'add_sale' THEN 'medium' ELSE 'high' END, p_proposal, p_digest, 'ok',
            '{"approver":' || to_json(p_approver) || ',"code_sales":' || to_json(p_code_sales)
            || ',"digest":' || to_json(p_digest) || '}');
END;

-- The answer of both: 201 for what this call wrote, 200 for what the same approval had written before; `code` is NULL
-- unless the write was refused.
CREATE TYPE write_answer AS (
    status_code int, status_message text, code text, code_sales text, code_customer text, name_customer text,
    department text, date_sales text, products text, price bigint, registered_by text, registered_by_name text,
    cancelled boolean
);

CREATE FUNCTION refused(p_code text) RETURNS write_answer
    LANGUAGE sql IMMUTABLE
    RETURN ROW(
        CASE WHEN p_code IN ('customer_not_found', 'sale_not_found') THEN 404 ELSE 403 END,
        CASE p_code
            WHEN 'customer_not_found' THEN '顧客が存在しません'
            WHEN 'sale_not_found' THEN '売上が存在しません'
            WHEN 'not_allowed' THEN '権限がありません'
            WHEN 'above_limit' THEN '承認できる金額を超えているか、承認者が違います'
            WHEN 'not_own_sale' THEN '他の人が登録した売上を取り消せるのは管理者だけです'
            WHEN 'undo_window_over' THEN '取り消せる時間を過ぎました'
            WHEN 'already_cancelled' THEN 'すでに取り消されています'
            WHEN 'approval_mismatch' THEN '承認の内容と一致しません'
            ELSE '承認がありません'
        END,
        p_code, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::write_answer;

CREATE FUNCTION written(p_code_sales text, p_status int) RETURNS write_answer
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT ROW(p_status, 'OK', NULL, r.code_sales, r.code_customer, r.name_customer, r.department, r.date_sales,
               r.products, r.price, r.registered_by, r.registered_by_name, r.cancelled)::write_answer
    FROM sale_rows r WHERE r.code_sales = p_code_sales;
END;

-- `S`, the time in the company's zone, and four of Crockford's letters, which has none that a person could mistake for
-- another.
CREATE FUNCTION new_code_sales(p_at timestamptz, p_zone text) RETURNS text
    LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT 'S' || to_char(p_at AT TIME ZONE p_zone, 'YYYYMMDDHH24MISS') || '-'
           || string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', get_byte(random.bytes, i) % 32 + 1, 1), '')
    FROM (SELECT uuid_send(gen_random_uuid()) AS bytes) AS random, generate_series(0, 3) AS i;
END;

CREATE FUNCTION add_sale(p_proposal text, p_digest text, p_requester text, p_approver text, p_code_customer text,
                         p_products text, p_price bigint, p_date_sales date, p_zone text)
    RETURNS write_answer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    day CONSTANT date := coalesce(p_date_sales, (at AT TIME ZONE p_zone)::date);
    first sales;
    new sale_rows;
    refusal text;
BEGIN
    -- Once before the lock, so that a repeat waits for nobody, and once more behind it, where another call of the same
    -- approval has ended.
    FOR attempt IN 1..2 LOOP
        SELECT * INTO first FROM sales s WHERE s.proposal_id = p_proposal;
        IF FOUND THEN
            IF first.digest = p_digest AND first.code_customer = p_code_customer AND first.products = p_products
               AND first.price = p_price AND first.sales_date = coalesce(p_date_sales, first.sales_date)
            THEN
                RETURN written(first.code_sales, 200);
            END IF;
            RETURN refused('approval_mismatch');
        END IF;
        IF attempt = 1 THEN
            PERFORM FROM proposals p WHERE p.id = p_proposal FOR UPDATE;
        END IF;
    END LOOP;
    refusal := refusal_of_approval(p_proposal, p_digest, p_requester, p_approver, 'add_sale');
    IF refusal <> '' THEN
        RETURN refused(refusal);
    END IF;
    SELECT c.name_customer, c.department INTO new.name_customer, new.department
    FROM customers c WHERE c.code_customer = p_code_customer FOR SHARE;
    IF NOT FOUND OR NOT sees(p_requester, new.department) THEN
        RETURN refused('customer_not_found');
    END IF;
    new.code_customer := p_code_customer;
    new.date_sales := to_char(day, 'YYYY-MM-DD');
    new.products := p_products;
    new.price := p_price;
    IF digest_of_sale(new) IS DISTINCT FROM p_digest THEN
        RETURN refused('approval_mismatch');
    END IF;
    IF NOT may_approve(p_approver, p_requester, new.department, p_price) THEN
        RETURN refused('above_limit');
    END IF;
    LOOP
        -- Two sales of one second differ in their letters; where even those meet, others are tried.
        new.code_sales := new_code_sales(at, p_zone);
        INSERT INTO sales (code_sales, code_customer, department, sales_date, products, price, registered_by, origin,
                           proposal_id, digest, registered_at)
        VALUES (new.code_sales, p_code_customer, new.department, day, p_products, p_price, p_requester, 'approval',
                p_proposal, p_digest, floor(extract(epoch FROM at) * 1000)::bigint)
        ON CONFLICT (code_sales) DO NOTHING;
        EXIT WHEN FOUND;
    END LOOP;
    PERFORM audit_write('sale_registered', 'add_sale', p_proposal, p_digest, p_requester, p_approver, new.code_sales);
    RETURN written(new.code_sales, 201);
END
$$;

-- `p_undo_ms`: how long a salesperson may cancel an own registration.
CREATE FUNCTION cancel_sale(p_proposal text, p_digest text, p_requester text, p_approver text, p_code_sales text,
                            p_reason text, p_undo_ms bigint)
    RETURNS write_answer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    first sales;
    sale sale_rows;
    refusal text;
    now CONSTANT bigint := now_ms();
    own_only boolean;
BEGIN
    FOR attempt IN 1..2 LOOP
        SELECT * INTO first FROM sales s WHERE s.cancel_proposal = p_proposal;
        IF FOUND THEN
            IF first.cancel_digest = p_digest AND first.code_sales = p_code_sales AND first.cancel_reason = p_reason THEN
                RETURN written(first.code_sales, 200);
            END IF;
            RETURN refused('approval_mismatch');
        END IF;
        IF attempt = 1 THEN
            PERFORM FROM proposals p WHERE p.id = p_proposal FOR UPDATE;
        END IF;
    END LOOP;
    refusal := refusal_of_approval(p_proposal, p_digest, p_requester, p_approver, 'cancel_sale');
    IF refusal <> '' THEN
        RETURN refused(refusal);
    ELSIF p_approver <> p_requester THEN
        RETURN refused('not_allowed');
    END IF;
    -- Another approval may be cancelling it at this moment.
    PERFORM FROM sales s WHERE s.code_sales = p_code_sales FOR UPDATE;
    own_only := coalesce((SELECT r.role = 'sales' FROM rights_of(p_requester) AS r), true);
    SELECT * INTO sale FROM sale_rows r WHERE r.code_sales = p_code_sales;
    IF NOT FOUND OR NOT sees(p_requester, sale.department) THEN
        RETURN refused('sale_not_found');
    ELSIF own_only AND sale.registered_by <> p_requester THEN
        RETURN refused('not_own_sale');
    ELSIF own_only AND now - sale.registered_at > coalesce(p_undo_ms, 0) THEN
        RETURN refused('undo_window_over');
    ELSIF sale.cancelled THEN
        RETURN refused('already_cancelled');
    ELSIF digest_of_cancellation(sale, p_reason) IS DISTINCT FROM p_digest THEN
        RETURN refused('approval_mismatch');
    END IF;
    UPDATE sales SET cancelled_at = now, cancelled_by = p_requester, cancel_reason = p_reason,
                     cancel_proposal = p_proposal, cancel_digest = p_digest
    WHERE code_sales = p_code_sales;
    PERFORM audit_write('sale_cancelled', 'cancel_sale', p_proposal, p_digest, p_requester, p_approver, p_code_sales);
    RETURN written(p_code_sales, 201);
END
$$;

GRANT EXECUTE ON FUNCTION
    add_sale(text, text, text, text, text, text, bigint, date, text),
    cancel_sale(text, text, text, text, text, text, bigint)
    TO sales_concierge_committer;

RESET ROLE;
