-- The reads. Each exists twice over one body: under the name of its tool, for SQL clients, with the departments that
-- `sales_concierge.departments` names; and as `server_…`, for the sales server, which names the person and gets the whole
-- answer as JSON in one statement. All of them run with the rights of who calls, so that row security holds under them,
-- but for the search, which needs the index.
--
-- Small functions are in PL/pgSQL because a session keeps their plans; one in SQL is planned again for each statement.
-- Only those that callers name, and those that run as their owner, set search_path: below them it holds already, and each
-- setting makes PostgreSQL read the schemas again.
-- Bounds of a period are resolved before the query: below a row security policy only a plain value reaches the index.
SET LOCAL ROLE sales_concierge_owner;

-- A person's rights at this moment; nothing for a stranger and for one who was revoked. `*` is what an admin has, and
-- no name that a record could hold.
CREATE FUNCTION rights_of(subject text, OUT role text, OUT departments text[])
    LANGUAGE plpgsql STABLE
AS $$
BEGIN
    SELECT s.role,
           CASE s.role WHEN 'admin' THEN '{*}'::text[]
                ELSE array_remove(ARRAY(SELECT json_array_elements_text(s.departments::json)), '*') END
    INTO role, departments
    FROM staff s WHERE 'slack:' || s.team || ':' || s."user" = subject AND s.active;
END
$$;

-- Sets whose rows this transaction sees. False when the person has no rights: then it sees none.
CREATE FUNCTION act_for(subject text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    rights record;
BEGIN
    rights := rights_of(subject);
    PERFORM set_config('sales_concierge.departments', coalesce(array_to_json(rights.departments)::text, '[]'), true),
            set_config('sales_concierge.subject', subject, true);
    RETURN rights.role IS NOT NULL;
END
$$;

-- The trail's row of an answer, written in the statement that reads: an answer without its row cannot be.
CREATE FUNCTION audit_answer(p_subject text, p_tool text, p_count bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    INSERT INTO audit (at, actor, on_behalf, event, tool, risk, result, detail)
    VALUES (now_ms(), 'sales-server', p_subject, 'tool_answered', p_tool, 'low', 'ok',
            '{"count":' || p_count || ',"repeated":null}');
END
$$;

-- The department of a customer whom the caller may see; NULL for "unknown" and for "another department's".
CREATE FUNCTION department_of(p_code_customer text) RETURNS text
    LANGUAGE plpgsql STABLE
AS $$
DECLARE
    found_in CONSTANT text := (SELECT c.department FROM customers c WHERE c.code_customer = p_code_customer);
BEGIN
    RETURN CASE WHEN departments_now() && ARRAY['*', found_in] THEN found_in END;
END
$$;

-- A sale as answers show it.
CREATE VIEW sale_rows WITH (security_invoker = true) AS
SELECT s.code_sales, s.code_customer, c.name_customer, s.department, to_char(s.sales_date, 'YYYY-MM-DD') AS date_sales,
       s.products, s.price, s.registered_by,
       (SELECT p.display_name FROM staff p WHERE 'slack:' || p.team || ':' || p."user" = s.registered_by)
           AS registered_by_name,
       s.cancelled_at IS NOT NULL AS cancelled, s.origin, s.sales_date, s.registered_at
FROM sales s JOIN customers c ON c.code_customer = s.code_customer;

-- Customers. `form` is the search form of a part of the name. The number of all matches and their departments stand in
-- each row; rows come in the order of codes.
CREATE FUNCTION find_customers(p_code text, p_form text, p_limit bigint)
    RETURNS TABLE (code_customer text, name_customer text, address text, phone text, department text,
                   matches bigint, departments text[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50
    SET search_path = pg_catalog, public, pg_temp
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    mine CONSTANT text[] := departments_now();
    every CONSTANT boolean := '*' = ANY (mine);
    -- What the index is asked for: each letter and pair of a longer text is checked against the name itself.
    letters CONSTANT int := length(p_form);
    -- Of more matches in a department, the first are met soon when its names are read in the order of codes; fewer are
    -- sooner sorted.
    few CONSTANT bigint := 1000;
    grams CONSTANT text[] := CASE WHEN letters <= 2 THEN ARRAY[p_form]
        ELSE ARRAY(SELECT substr(p_form, i, 2) FROM generate_series(1, letters - 1) AS i) END;
BEGIN
    IF p_form = '' THEN
        RETURN;
    ELSIF p_code IS NOT NULL THEN
        RETURN QUERY
        SELECT c.code_customer, c.name_customer, c.address, c.phone, c.department, 1::bigint, ARRAY[c.department]
        FROM customers c
        WHERE c.code_customer = p_code AND (every OR c.department = ANY (mine))
          AND (p_form IS NULL OR strpos(c.name_search, p_form) > 0);
    ELSIF p_form IS NULL THEN
        RETURN QUERY
        WITH m AS MATERIALIZED (
            SELECT c.code_customer, c.department FROM customers c WHERE every OR c.department = ANY (mine)
        ), d AS MATERIALIZED (
            SELECT m.department, count(*) AS n FROM m GROUP BY m.department
        )
        SELECT c.code_customer, c.name_customer, c.address, c.phone, c.department,
               (SELECT sum(d.n)::bigint FROM d), (SELECT array_agg(d.department ORDER BY d.department) FROM d)
        FROM (SELECT m.code_customer FROM m ORDER BY m.code_customer LIMIT p_limit) AS first
        JOIN customers c ON c.code_customer = first.code_customer
        ORDER BY c.code_customer;
    ELSE
        RETURN QUERY
        WITH RECURSIVE every_one (name) AS (
            (SELECT c.department FROM customers c WHERE every ORDER BY c.department LIMIT 1)
            UNION ALL
            SELECT (SELECT c.department FROM customers c WHERE c.department > e.name ORDER BY c.department LIMIT 1)
            FROM every_one e WHERE e.name IS NOT NULL
        ), own AS MATERIALIZED (
            SELECT e.name FROM every_one e WHERE e.name IS NOT NULL
            UNION SELECT unnest(mine) WHERE NOT every
        ), found AS MATERIALIZED (
            SELECT own.name, m.n
            FROM own, LATERAL (
                -- One letter and two are counted already.
                SELECT sum(g.count)::bigint AS n FROM customer_grams g
                WHERE letters <= 2 AND g.department = own.name AND g.gram = p_form
                UNION ALL
                SELECT count(*) FROM customers c
                WHERE letters > 2 AND search_grams(c.name_search, c.department) @> scoped_grams(own.name, grams)
                  AND strpos(c.name_search, p_form) > 0) AS m
            WHERE m.n > 0
        ), first AS MATERIALIZED (
            SELECT f.code
            FROM found, LATERAL (
                (SELECT c.code_customer FROM customers c
                 WHERE found.n <= few AND search_grams(c.name_search, c.department) @> scoped_grams(found.name, grams)
                   AND strpos(c.name_search, p_form) > 0
                 ORDER BY c.code_customer LIMIT p_limit)
                UNION ALL
                (SELECT c.code_customer FROM customers c
                 -- A range of one, so that this order is the index's and no other index will do.
                 WHERE found.n > few AND c.department BETWEEN found.name AND found.name
                   AND strpos(c.name_search, p_form) > 0
                 ORDER BY c.department, c.code_customer LIMIT p_limit)) AS f (code)
            ORDER BY f.code LIMIT p_limit
        )
        SELECT c.code_customer, c.name_customer, c.address, c.phone, c.department,
               (SELECT sum(found.n)::bigint FROM found), (SELECT array_agg(found.name ORDER BY found.name) FROM found)
        FROM first JOIN customers c ON c.code_customer = first.code
        ORDER BY c.code_customer;
    END IF;
END
$$;

CREATE FUNCTION get_customers(p_code_customer text, p_name_str_customer text)
    RETURNS TABLE (status_code int, status_message text, code_customer text, name_customer text, address text,
                   phone text, department text)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT 200, 'OK'::text, f.code_customer, f.name_customer, f.address, f.phone, f.department
    FROM find_customers(p_code_customer, search_form(p_name_str_customer), NULL) AS f;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 204, '該当データなし'::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text;
    END IF;
END
$$;

CREATE FUNCTION server_get_customers(p_subject text, p_code_customer text, p_name_str_customer text, p_limit bigint,
                                     OUT code text, OUT data json)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    n bigint;
BEGIN
    IF NOT act_for(p_subject) THEN
        code := 'not_allowed';
        RETURN;
    END IF;
    IF p_code_customer IS NOT NULL AND p_name_str_customer IS NULL THEN
        -- Needs no index but the key's, so row security can stand above it.
        SELECT json_build_object(
                   'customers', coalesce(json_agg(json_build_object(
                       'code_customer', c.code_customer, 'name_customer', c.name_customer, 'address', c.address,
                       'phone', c.phone, 'department', c.department)), '[]'),
                   'count', count(*), 'truncated', false, 'departments', coalesce(json_agg(c.department), '[]')),
               count(*)
        INTO data, n
        FROM customers c WHERE c.code_customer = p_code_customer;
    ELSE
        SELECT json_build_object(
                   'customers', coalesce(json_agg(json_build_object(
                       'code_customer', f.code_customer, 'name_customer', f.name_customer, 'address', f.address,
                       'phone', f.phone, 'department', f.department)), '[]'),
                   'count', coalesce(max(f.matches), 0),
                   'truncated', coalesce(max(f.matches), 0) > count(*),
                   'departments', coalesce((array_agg(to_json(f.departments)))[1], '[]')),
               coalesce(max(f.matches), 0)
        INTO data, n
        FROM find_customers(p_code_customer, search_form(p_name_str_customer), p_limit) AS f;
    END IF;
    PERFORM audit_answer(p_subject, 'get_customers', n);
END
$$;

-- One customer's sales, the newest first. The customer must be one whom the caller may see: `department_of` says so.
CREATE FUNCTION find_sales(p_code_customer text, p_code_sales text, p_begin date, p_end date, p_limit bigint)
    RETURNS TABLE (sale sale_rows, matches bigint, total_price bigint)
    LANGUAGE plpgsql STABLE ROWS 50
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    since CONSTANT date := coalesce(p_begin, '-infinity');
    until CONSTANT date := coalesce(p_end, 'infinity');
BEGIN
    RETURN QUERY
    WITH m AS MATERIALIZED (
        SELECT s.code_sales, s.sales_date, s.registered_at, s.price, s.cancelled_at IS NOT NULL AS cancelled
        FROM sales s
        WHERE s.code_customer = p_code_customer AND (p_code_sales IS NULL OR s.code_sales = p_code_sales)
          AND s.sales_date BETWEEN since AND until
    ), top AS MATERIALIZED (
        SELECT m.code_sales FROM m ORDER BY m.sales_date DESC, m.registered_at DESC, m.code_sales DESC LIMIT p_limit
    )
    SELECT r, (SELECT count(*) FROM m),
           (SELECT coalesce(sum(m.price) FILTER (WHERE NOT m.cancelled), 0)::bigint FROM m)
    FROM top JOIN sale_rows r ON r.code_sales = top.code_sales
    ORDER BY r.sales_date DESC, r.registered_at DESC, r.code_sales DESC;
END
$$;

CREATE FUNCTION get_sales(p_code_customer text, p_code_sales text, p_date_begin date, p_date_end date)
    RETURNS TABLE (status_code int, status_message text, code_sales text, code_customer text, name_customer text,
                   date_sales text, products text, price bigint, registered_by text, cancelled boolean)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF department_of(p_code_customer) IS NULL THEN
        RETURN QUERY SELECT 404, '顧客が存在しません'::text, NULL::text, p_code_customer, NULL::text, NULL::text, NULL::text,
                            NULL::bigint, NULL::text, NULL::boolean;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT 200, 'OK'::text, (f.sale).code_sales, (f.sale).code_customer, (f.sale).name_customer, (f.sale).date_sales,
           (f.sale).products, (f.sale).price, (f.sale).registered_by, (f.sale).cancelled
    FROM find_sales(p_code_customer, p_code_sales, p_date_begin, p_date_end, NULL) AS f
    ORDER BY (f.sale).sales_date, (f.sale).registered_at, (f.sale).code_sales;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 204, '該当データなし'::text, NULL::text, p_code_customer, NULL::text, NULL::text, NULL::text,
                            NULL::bigint, NULL::text, NULL::boolean;
    END IF;
END
$$;

CREATE FUNCTION sale_json(sale sale_rows) RETURNS json
    LANGUAGE sql STABLE
    RETURN json_build_object(
        'code_sales', (sale).code_sales, 'code_customer', (sale).code_customer, 'name_customer', (sale).name_customer,
        'department', (sale).department, 'date_sales', (sale).date_sales, 'products', (sale).products,
        'price', (sale).price, 'registered_by', (sale).registered_by, 'registered_by_name', (sale).registered_by_name,
        'cancelled', (sale).cancelled, 'origin', (sale).origin);

CREATE FUNCTION server_get_sales(p_subject text, p_code_customer text, p_code_sales text, p_begin date, p_end date,
                                 p_limit bigint, OUT code text, OUT data json)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    n bigint;
    department text;
BEGIN
    IF NOT act_for(p_subject) THEN
        code := 'not_allowed';
        RETURN;
    END IF;
    department := department_of(p_code_customer);
    IF department IS NULL THEN
        code := 'customer_not_found';
        RETURN;
    END IF;
    SELECT json_build_object(
               'sales', coalesce(json_agg(sale_json(f.sale)
                   ORDER BY (f.sale).sales_date, (f.sale).registered_at, (f.sale).code_sales), '[]'),
               'count', coalesce(max(f.matches), 0),
               'total_price', coalesce(max(f.total_price), 0),
               'truncated', coalesce(max(f.matches), 0) > count(*),
               'departments', json_build_array(department)),
           coalesce(max(f.matches), 0)
    INTO data, n
    FROM find_sales(p_code_customer, p_code_sales, p_begin, p_end, p_limit) AS f;
    PERFORM audit_answer(p_subject, 'get_sales', n);
END
$$;

-- Registrations, the newest first: those of the people in `p_by`, or of anybody where it is NULL.
CREATE FUNCTION find_registrations(p_by text[], p_code_sales text, p_begin date, p_end date,
                                   p_include_cancelled boolean, p_limit bigint)
    RETURNS TABLE (sale sale_rows, matches bigint, total_price bigint, departments text[])
    LANGUAGE plpgsql STABLE ROWS 50
    SET jit = off
    SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    mine CONSTANT text[] := departments_now();
    every CONSTANT boolean := '*' = ANY (mine);
    since CONSTANT date := coalesce(p_begin, '-infinity');
    until CONSTANT date := coalesce(p_end, 'infinity');
BEGIN
    RETURN QUERY
    WITH m AS MATERIALIZED (
        SELECT s.code_sales, s.sales_date, s.registered_at, s.price, s.department, s.cancelled_at IS NOT NULL AS cancelled
        FROM sales s
        WHERE (every OR s.department = ANY (mine))
          AND (p_by IS NULL OR s.registered_by = ANY (p_by))
          AND (p_code_sales IS NULL OR s.code_sales = p_code_sales)
          AND s.sales_date BETWEEN since AND until
          AND (p_include_cancelled OR s.cancelled_at IS NULL)
    ), top AS MATERIALIZED (
        SELECT m.code_sales FROM m ORDER BY m.sales_date DESC, m.registered_at DESC, m.code_sales DESC LIMIT p_limit
    )
    SELECT r, (SELECT count(*) FROM m),
           (SELECT coalesce(sum(m.price) FILTER (WHERE NOT m.cancelled), 0)::bigint FROM m),
           ARRAY(SELECT m.department FROM m GROUP BY m.department ORDER BY m.department)
    FROM top JOIN sale_rows r ON r.code_sales = top.code_sales
    ORDER BY r.sales_date DESC, r.registered_at DESC, r.code_sales DESC;
END
$$;

-- Whose registrations are meant: a subject, a part of colleagues' names, or the caller; NULL, anybody's, where one sale is
-- asked for by its number.
CREATE FUNCTION registrants(p_registered_by text, p_code_sales text) RETURNS text[]
    LANGUAGE sql STABLE
    RETURN CASE
        WHEN p_registered_by IS NOT NULL THEN p_registered_by || ARRAY(
            SELECT 'slack:' || s.team || ':' || s."user" FROM staff s
            WHERE search_form(p_registered_by) <> ''
              AND strpos(search_form(s.display_name), search_form(p_registered_by)) > 0)
        WHEN p_code_sales IS NULL THEN ARRAY[coalesce(current_setting('sales_concierge.subject', true), '')]
    END;

CREATE FUNCTION list_registrations(p_date_begin date, p_date_end date, p_registered_by text DEFAULT NULL,
                                   p_include_cancelled boolean DEFAULT false)
    RETURNS TABLE (status_code int, status_message text, code_sales text, code_customer text, name_customer text,
                   date_sales text, products text, price bigint, registered_by text, cancelled boolean, origin text)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT 200, 'OK'::text, (f.sale).code_sales, (f.sale).code_customer, (f.sale).name_customer, (f.sale).date_sales,
           (f.sale).products, (f.sale).price, (f.sale).registered_by, (f.sale).cancelled, (f.sale).origin
    FROM find_registrations(registrants(p_registered_by, NULL), NULL, p_date_begin, p_date_end,
                            coalesce(p_include_cancelled, false), NULL) AS f
    ORDER BY (f.sale).sales_date, (f.sale).registered_at, (f.sale).code_sales;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 204, '該当データなし'::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text,
                            NULL::bigint, NULL::text, NULL::boolean, NULL::text;
    END IF;
END
$$;

CREATE FUNCTION server_list_registrations(p_subject text, p_registered_by text, p_code_sales text, p_begin date,
                                          p_end date, p_include_cancelled boolean, p_limit bigint,
                                          OUT code text, OUT data json)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    n bigint;
BEGIN
    IF NOT act_for(p_subject) THEN
        code := 'not_allowed';
        RETURN;
    END IF;
    SELECT json_build_object(
               'registrations', coalesce(json_agg(sale_json(f.sale)
                   ORDER BY (f.sale).sales_date, (f.sale).registered_at, (f.sale).code_sales), '[]'),
               'count', coalesce(max(f.matches), 0),
               'total_price', coalesce(max(f.total_price), 0),
               'truncated', coalesce(max(f.matches), 0) > count(*),
               'departments', coalesce((array_agg(to_json(f.departments)))[1], '[]')),
           coalesce(max(f.matches), 0)
    INTO data, n
    FROM find_registrations(registrants(p_registered_by, p_code_sales), p_code_sales, p_begin, p_end,
                            p_include_cancelled, p_limit) AS f;
    PERFORM audit_answer(p_subject, 'list_registrations', n);
END
$$;

-- What totals are made of: sales of a day, and of a customer or a person where `p_group_by` tells them apart. Days come
-- from `sales_daily` unless one customer is meant. Each way is a query of its own, so that its plan can be kept.
CREATE FUNCTION totals_source(p_begin date, p_end date, p_code_customer text, p_group_by text)
    RETURNS TABLE (day date, who text, department text, n bigint, total bigint)
    LANGUAGE plpgsql STABLE ROWS 400
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    mine CONSTANT text[] := departments_now();
    every CONSTANT boolean := '*' = ANY (mine);
BEGIN
    IF p_code_customer IS NOT NULL THEN
        RETURN QUERY
        SELECT CASE WHEN p_group_by NOT IN ('customer', 'staff') THEN s.sales_date END,
               CASE p_group_by WHEN 'customer' THEN s.code_customer WHEN 'staff' THEN s.registered_by END,
               s.department, count(*), sum(s.price)::bigint
        FROM sales s
        WHERE s.code_customer = p_code_customer AND s.sales_date BETWEEN p_begin AND p_end
          AND (every OR s.department = ANY (mine)) AND s.cancelled_at IS NULL
        GROUP BY 1, 2, 3;
    ELSIF p_group_by = 'customer' THEN
        RETURN QUERY
        SELECT NULL::date, s.code_customer, s.department, count(*), sum(s.price)::bigint
        FROM sales s
        WHERE s.sales_date BETWEEN p_begin AND p_end AND (every OR s.department = ANY (mine)) AND s.cancelled_at IS NULL
        GROUP BY 2, 3;
    ELSIF p_group_by = 'staff' THEN
        RETURN QUERY
        SELECT NULL::date, s.registered_by, s.department, count(*), sum(s.price)::bigint
        FROM sales s
        WHERE s.sales_date BETWEEN p_begin AND p_end AND (every OR s.department = ANY (mine)) AND s.cancelled_at IS NULL
        GROUP BY 2, 3;
    ELSE
        RETURN QUERY
        SELECT d.sales_date, NULL::text, d.department, sum(d.count)::bigint, sum(d.total)::bigint
        FROM sales_daily d
        WHERE d.sales_date BETWEEN p_begin AND p_end AND (every OR d.department = ANY (mine))
        GROUP BY 1, 3 HAVING sum(d.count) > 0;
    END IF;
END
$$;

-- Totals by `p_group_by`. Customers and people by the size of their total, times in their order.
CREATE FUNCTION find_totals(p_begin date, p_end date, p_code_customer text, p_group_by text, p_limit bigint)
    RETURNS TABLE (key text, label text, n bigint, total bigint, all_groups bigint, all_n bigint, all_total bigint,
                   departments text[])
    LANGUAGE plpgsql STABLE ROWS 50
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    of_whom CONSTANT boolean := p_group_by IN ('customer', 'staff');
BEGIN
    RETURN QUERY
    WITH source AS MATERIALIZED (
        SELECT * FROM totals_source(p_begin, p_end, p_code_customer, p_group_by)
    ), dated AS (
        SELECT source.day, source.who, sum(source.n)::bigint AS n, sum(source.total)::bigint AS total
        FROM source GROUP BY source.day, source.who
    ), groups AS MATERIALIZED (
        SELECT CASE p_group_by
                   WHEN 'total' THEN 'total'
                   WHEN 'day' THEN to_char(day, 'YYYY-MM-DD')
                   WHEN 'week' THEN to_char(day - (extract(isodow FROM day)::int - 1), 'YYYY-MM-DD')
                   WHEN 'month' THEN to_char(day, 'YYYY-MM')
                   ELSE who
               END AS key, sum(dated.n)::bigint AS n, sum(dated.total)::bigint AS total
        FROM dated GROUP BY 1
    ), top AS MATERIALIZED (
        SELECT g.key, g.n, g.total FROM groups g
        ORDER BY CASE WHEN of_whom THEN -g.total END, g.key COLLATE "C" LIMIT p_limit
    )
    SELECT top.key,
           CASE p_group_by
               WHEN 'week' THEN top.key || '/' || to_char(to_date(top.key, 'YYYY-MM-DD') + 6, 'YYYY-MM-DD')
               WHEN 'customer' THEN (SELECT c.name_customer FROM customers c WHERE c.code_customer = top.key)
               WHEN 'staff' THEN coalesce((SELECT s.display_name FROM staff s
                                           WHERE 'slack:' || s.team || ':' || s."user" = top.key), top.key)
               ELSE top.key
           END,
           top.n, top.total, (SELECT count(*) FROM groups), (SELECT sum(g.n)::bigint FROM groups g),
           (SELECT sum(g.total)::bigint FROM groups g),
           ARRAY(SELECT source.department FROM source GROUP BY source.department ORDER BY source.department)
    FROM top
    ORDER BY CASE WHEN of_whom THEN -top.total END, top.key COLLATE "C";
END
$$;

CREATE FUNCTION summarize_sales(p_date_begin date, p_date_end date, p_code_customer text DEFAULT NULL,
                                p_group_by text DEFAULT 'total')
    RETURNS TABLE (status_code int, status_message text, key text, label text, count bigint, total_price bigint)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF p_group_by NOT IN ('total', 'day', 'week', 'month', 'customer', 'staff') THEN
        RAISE EXCEPTION 'group_by is one of total, day, week, month, customer, staff'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF p_code_customer IS NOT NULL AND department_of(p_code_customer) IS NULL THEN
        RETURN QUERY SELECT 404, '顧客が存在しません'::text, NULL::text, NULL::text, NULL::bigint, NULL::bigint;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT 200, 'OK'::text, f.key, f.label, f.n, f.total
    FROM find_totals(p_date_begin, p_date_end, p_code_customer, p_group_by, NULL) AS f;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 204, '該当データなし'::text, NULL::text, NULL::text, NULL::bigint, NULL::bigint;
    END IF;
END
$$;

CREATE FUNCTION server_summarize_sales(p_subject text, p_begin date, p_end date, p_code_customer text, p_group_by text,
                                       p_limit bigint, OUT code text, OUT data json)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    n bigint;
    department text;
BEGIN
    IF NOT act_for(p_subject) THEN
        code := 'not_allowed';
        RETURN;
    END IF;
    IF p_code_customer IS NOT NULL THEN
        department := department_of(p_code_customer);
        IF department IS NULL THEN
            code := 'customer_not_found';
            RETURN;
        END IF;
    END IF;
    SELECT json_build_object(
               'groups', coalesce(json_agg(json_build_object(
                   'key', f.key, 'label', f.label, 'count', f.n, 'total_price', f.total)), '[]'),
               'count', coalesce(max(f.all_n), 0),
               'total_price', coalesce(max(f.all_total), 0),
               'truncated', coalesce(max(f.all_groups), 0) > count(*),
               'period', json_build_object('begin', p_begin, 'end', p_end),
               'departments', coalesce((array_agg(to_json(f.departments)))[1], array_to_json(array_remove(ARRAY[department], NULL)))),
           coalesce(max(f.all_n), 0)
    INTO data, n
    FROM find_totals(p_begin, p_end, p_code_customer, p_group_by, p_limit) AS f;
    PERFORM audit_answer(p_subject, 'summarize_sales', n);
END
$$;

GRANT SELECT ON sale_rows TO sales_concierge_reader;
GRANT EXECUTE ON FUNCTION
    rights_of(text), act_for(text), audit_answer(text, text, bigint), department_of(text), sale_json(sale_rows), registrants(text, text),
    find_customers(text, text, bigint), find_sales(text, text, date, date, bigint),
    find_registrations(text[], text, date, date, boolean, bigint), find_totals(date, date, text, text, bigint),
    totals_source(date, date, text, text),
    get_customers(text, text), get_sales(text, text, date, date), list_registrations(date, date, text, boolean),
    summarize_sales(date, date, text, text),
    server_get_customers(text, text, text, bigint), server_get_sales(text, text, text, date, date, bigint),
    server_list_registrations(text, text, text, date, date, boolean, bigint),
    server_summarize_sales(text, date, date, text, text, bigint)
    TO sales_concierge_reader;

RESET ROLE;
