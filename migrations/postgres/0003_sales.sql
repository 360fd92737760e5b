-- Customers, sales, the search by name, and the totals.
SET LOCAL ROLE sales_concierge_owner;

-- The form of a name that a search compares: NFKC, lower case, katakana for hiragana, one form for letters that names
-- write in several (髙, 高), no white space, no variation selectors. The program has the same in `sales::search`; a test
-- holds one to the other. NFKC comes twice, since what stood between a letter and its mark may have gone.
CREATE FUNCTION search_form(name text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN normalize(
        translate(
            translate(
                regexp_replace(
                    lower(normalize(name, NFKC) COLLATE "und-x-icu"),
                    U&'[\0009-\000D\0020\0085\00A0\1680\2000-\200A\2028\2029\202F\205F\3000\FE00-\FE0F\+0E0100-\+0E01EF]',
                    '', 'g'),
                'ぁあぃいぅうぇえぉおかがきぎくぐけげこごさざしじすずせぜそぞただちぢっつづてでとどなにぬねのはばぱひびぴふぶぷへべぺほぼぽまみむめもゃやゅゆょよらりるれろゎわゐゑをんゔゕゖゝゞ',
                'ァアィイゥウェエォオカガキギクグケゲコゴサザシジスズセゼソゾタダチヂッツヅテデトドナニヌネノハバパヒビピフブプヘベペホボポマミムメモャヤュユョヨラリルレロヮワヰヱヲンヴヵヶヽヾ'),
            '髙﨑嵜邊邉澤濱濵齋齊斉廣國圀眞櫻嶋嶌冨峯德惠榮槇瀨龍瀧壽實豐濟鹽鐵關學莊藏縣圓驛戶户黑吳曾聰聽靜淨晉'
            '條狀乘假兒內兩冲凉凜劍劔釼勞勳勵區卷卽參變單嚴囑圖團圍壯壷壹增堯奧奬姬孃寬寢寶寳將專對屆屬峽嶽巖巢帶'
            '廢廳强彈彌從徑恆惡愼應懷戰戲戾拂拔搖攝收敍敎敕數斷晚曉曆會來枩栢栁桒檜槪樂樓樣權橫檢歐步歷歸每氣淚淸'
            '溪溫滿灣燈燒爐爭爲狹獨獵獻瑤畫當疊發盜禮禪祿稅稻穗穰穩竝粹絲經緖綠緣總繩繪繼續纖羣聲肅膽臺與舍舘舖莖'
            '藝薰藥蘆處號螢蟲蠶衞裝覺覽觀觸譯證譽讀讓讚豫賴賣輕轉邨遙遲鄕鄰醉醫釀釋錄錢鎭鑄鑛鷄雞鷗鶯險隱雙雜靈靑'
            '顏顯餘驗驅髮鬪麥麴黃默點黨齒龜礒薮籔𠮷𡈽槗亰亙佛俱僞傳價儉兔凞熈熙萬彥產郞曻昻晧晄渕渊靏靍舩埜夛姊尙'
            '屛峩甁畧頴竒篭緜艷萠蒋薗蘓諌躰體逹鈎閒韭頚顚飜鰺ς',
            '高崎崎辺辺沢浜浜斎斎斎広国国真桜島島富峰徳恵栄槙瀬竜滝寿実豊済塩鉄関学荘蔵県円駅戸戸黒呉曽聡聴静浄晋'
            '条状乗仮児内両沖涼凛剣剣剣労勲励区巻即参変単厳嘱図団囲壮壺壱増尭奥奨姫嬢寛寝宝宝将専対届属峡岳巌巣帯'
            '廃庁強弾弥従径恒悪慎応懐戦戯戻払抜揺摂収叙教勅数断晩暁暦会来松柏柳桑桧概楽楼様権横検欧歩歴帰毎気涙清'
            '渓温満湾灯焼炉争為狭独猟献瑶画当畳発盗礼禅禄税稲穂穣穏並粋糸経緒緑縁総縄絵継続繊群声粛胆台与舎館舗茎'
            '芸薫薬芦処号蛍虫蚕衛装覚覧観触訳証誉読譲讃予頼売軽転村遥遅郷隣酔医醸釈録銭鎮鋳鉱鶏鶏鴎鴬険隠双雑霊青'
            '顔顕余験駆髪闘麦麹黄黙点党歯亀磯藪藪吉土橋京亘仏倶偽伝価倹兎煕煕煕万彦産郎昇昂皓晃淵淵鶴鶴船野多姉尚'
            '屏峨瓶略穎奇籠綿艶萌蔣園蘇諫体体達鉤間韮頸顛翻鯵σ'),
        NFKC);

-- Every letter of a search form and every pair of neighbours, each once.
CREATE FUNCTION grams_of(form text) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (
        SELECT array_agg(DISTINCT gram)
        FROM generate_series(1, length(form)) AS i,
             LATERAL (VALUES (substr(form, i, 1)), (substr(form, i, 2))) AS v (gram));

-- What the index of names holds: the grams, with the department before each, so that one letter and two are found as fast
-- as many, and a department's names without looking at others'.
CREATE FUNCTION scoped_grams(department text, grams text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (SELECT array_agg(department || E'\n' || gram) FROM unnest(grams) AS gram);

CREATE FUNCTION search_grams(form text, department text) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN scoped_grams(department, grams_of(form));

CREATE TABLE customers (
    code_customer text COLLATE "C" PRIMARY KEY,
    name_customer text NOT NULL,
    name_search   text COLLATE "C" NOT NULL GENERATED ALWAYS AS (search_form(name_customer)) STORED,
    address       text NOT NULL,
    phone         text NOT NULL,
    -- `*` stands for all departments where rights are written down
    department    text COLLATE "C" NOT NULL CHECK (department <> '*'),
    -- for the sales' foreign key, and for reading a department's customers in the order of codes
    UNIQUE (department, code_customer)
);

CREATE INDEX customers_by_grams ON customers USING gin (search_grams(name_search, department));

-- How many names of a department hold a gram, kept in the transaction that changes a customer: a search by one letter or
-- two says how many it found, and PostgreSQL reads the row of each entry of the index that it counts (since 15.13 also of
-- those that it knows everybody sees). A gram has several rows, as a day has in sales_daily below.
CREATE TABLE customer_grams (
    department text COLLATE "C" NOT NULL,
    gram       text COLLATE "C" NOT NULL,
    shard      smallint NOT NULL,
    count      bigint NOT NULL,
    PRIMARY KEY (department, gram, shard)
);

CREATE FUNCTION customer_grams_keep() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    own CONSTANT smallint := pg_backend_pid() % 8;
BEGIN
    -- In one order everywhere, so that two statements do not lock each other out.
    IF TG_OP = 'INSERT' THEN
        INSERT INTO customer_grams AS g (department, gram, shard, count)
        SELECT department, gram, own, count(*)
        FROM added, unnest(grams_of(name_search)) AS gram GROUP BY department, gram ORDER BY department, gram
        ON CONFLICT (department, gram, shard) DO UPDATE SET count = g.count + excluded.count;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO customer_grams AS g (department, gram, shard, count)
        SELECT department, gram, own, -count(*)
        FROM removed, unnest(grams_of(name_search)) AS gram GROUP BY department, gram ORDER BY department, gram
        ON CONFLICT (department, gram, shard) DO UPDATE SET count = g.count + excluded.count;
    ELSE
        INSERT INTO customer_grams AS g (department, gram, shard, count)
        SELECT department, gram, own, sum(n)
        FROM (SELECT department, name_search, 1 AS n FROM added
              UNION ALL
              SELECT department, name_search, -1 FROM removed) AS change, unnest(grams_of(name_search)) AS gram
        GROUP BY department, gram HAVING sum(n) <> 0 ORDER BY department, gram
        ON CONFLICT (department, gram, shard) DO UPDATE SET count = g.count + excluded.count;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER customer_grams_after_insert AFTER INSERT ON customers
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION customer_grams_keep();
CREATE TRIGGER customer_grams_after_update AFTER UPDATE ON customers
    REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION customer_grams_keep();
CREATE TRIGGER customer_grams_after_delete AFTER DELETE ON customers
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION customer_grams_keep();
CREATE TRIGGER customers_are_not_truncated BEFORE TRUNCATE ON customers
    EXECUTE FUNCTION refuse('customers are deleted, not truncated: what is counted about them follows');

CREATE TABLE sales (
    code_sales      text COLLATE "C" PRIMARY KEY,
    code_customer   text COLLATE "C" NOT NULL,
    -- the customer's; kept in step by the foreign key, so that totals and row security need no join
    department      text COLLATE "C" NOT NULL,
    sales_date      date NOT NULL,
    products        text NOT NULL CHECK (length(products) BETWEEN 1 AND 1000),
    price           bigint NOT NULL CHECK (price BETWEEN 0 AND 999999999999),
    -- slack:TEAM:USER of the person it was registered for
    registered_by   text COLLATE "C" NOT NULL,
    origin          text NOT NULL CHECK (origin IN ('approval', 'import', 'sample')),
    -- one sale for one approval, whatever the interleaving
    proposal_id     text COLLATE "C",
    digest          text COLLATE "C",
    registered_at   bigint NOT NULL,
    cancelled_at    bigint,
    cancelled_by    text COLLATE "C",
    cancel_reason   text,
    cancel_proposal text COLLATE "C",
    cancel_digest   text COLLATE "C",
    FOREIGN KEY (code_customer, department) REFERENCES customers (code_customer, department) ON UPDATE CASCADE,
    CHECK ((origin = 'approval') = (proposal_id IS NOT NULL)),
    CHECK ((proposal_id IS NULL) = (digest IS NULL)),
    CHECK ((cancelled_at IS NULL) = (cancelled_by IS NULL))
);

CREATE UNIQUE INDEX sales_of_proposal ON sales (proposal_id) WHERE proposal_id IS NOT NULL;
CREATE UNIQUE INDEX sales_cancelled_by_proposal ON sales (cancel_proposal) WHERE cancel_proposal IS NOT NULL;
CREATE INDEX sales_by_customer ON sales (code_customer, sales_date);
CREATE INDEX sales_by_date ON sales (sales_date, department);
CREATE INDEX sales_by_person ON sales (registered_by, sales_date);

-- A row that comes without its department gets its customer's.
CREATE FUNCTION sales_take_department() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    SELECT department INTO NEW.department FROM customers WHERE code_customer = NEW.code_customer;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no customer of this code' USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER sales_have_a_department BEFORE INSERT ON sales FOR EACH ROW WHEN (NEW.department IS NULL)
    EXECUTE FUNCTION sales_take_department();

-- A sale of origin 'approval' needs the claimed proposal of the same digest, whoever inserts it; so does a cancellation.
CREATE FUNCTION sales_check_approval() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM proposals p
        WHERE p.state = 'claimed' AND p.tool = TG_ARGV[0]
          AND (p.id, p.digest) IN (SELECT CASE TG_ARGV[0] WHEN 'add_sale' THEN NEW.proposal_id ELSE NEW.cancel_proposal END,
                                          CASE TG_ARGV[0] WHEN 'add_sale' THEN NEW.digest ELSE NEW.cancel_digest END))
    THEN
        RAISE EXCEPTION 'approval_required' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER sales_need_an_approval BEFORE INSERT ON sales FOR EACH ROW WHEN (NEW.origin = 'approval')
    EXECUTE FUNCTION sales_check_approval('add_sale');
CREATE TRIGGER sales_cancel_needs_an_approval BEFORE UPDATE OF cancelled_at ON sales
    FOR EACH ROW WHEN (NEW.cancelled_at IS NOT NULL)
    EXECUTE FUNCTION sales_check_approval('cancel_sale');
-- What an approved sale says was on its card. It can be cancelled, and follow its customer into another department; it
-- cannot become another sale.
CREATE TRIGGER sales_of_an_approval_stay_as_approved BEFORE UPDATE ON sales FOR EACH ROW
    WHEN (OLD.origin = 'approval'
          AND (OLD.code_sales, OLD.code_customer, OLD.sales_date, OLD.products, OLD.price, OLD.registered_by, OLD.origin,
               OLD.proposal_id, OLD.digest)
              IS DISTINCT FROM (NEW.code_sales, NEW.code_customer, NEW.sales_date, NEW.products, NEW.price,
                                NEW.registered_by, NEW.origin, NEW.proposal_id, NEW.digest))
    EXECUTE FUNCTION refuse('a registered sale is cancelled, never changed');
CREATE TRIGGER sales_are_never_deleted BEFORE DELETE ON sales FOR EACH ROW WHEN (OLD.origin = 'approval')
    EXECUTE FUNCTION refuse('a registered sale is cancelled, never deleted');
CREATE TRIGGER sales_are_never_truncated BEFORE TRUNCATE ON sales
    EXECUTE FUNCTION refuse('a registered sale is cancelled, never deleted');

-- Totals of each department and day, cancelled sales left out, kept in the transaction that changes a sale. A day has
-- several rows, one of which a connection always uses: sales confirmed at the same moment do not wait for each other.
CREATE TABLE sales_daily (
    department text COLLATE "C" NOT NULL,
    sales_date date NOT NULL,
    shard      smallint NOT NULL,
    count      bigint NOT NULL,
    total      bigint NOT NULL,
    PRIMARY KEY (sales_date, department, shard)
);

CREATE FUNCTION sales_daily_keep() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    own CONSTANT smallint := pg_backend_pid() % 8;
BEGIN
    -- In one order everywhere, so that two statements that touch several days do not lock each other out.
    IF TG_OP = 'INSERT' THEN
        INSERT INTO sales_daily AS d (department, sales_date, shard, count, total)
        SELECT department, sales_date, own, count(*), sum(price)
        FROM added WHERE cancelled_at IS NULL GROUP BY department, sales_date ORDER BY sales_date, department
        ON CONFLICT (sales_date, department, shard)
        DO UPDATE SET count = d.count + excluded.count, total = d.total + excluded.total;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO sales_daily AS d (department, sales_date, shard, count, total)
        SELECT department, sales_date, own, -count(*), -sum(price)
        FROM removed WHERE cancelled_at IS NULL GROUP BY department, sales_date ORDER BY sales_date, department
        ON CONFLICT (sales_date, department, shard)
        DO UPDATE SET count = d.count + excluded.count, total = d.total + excluded.total;
    ELSE
        INSERT INTO sales_daily AS d (department, sales_date, shard, count, total)
        SELECT department, sales_date, own, sum(n), sum(yen)
        FROM (SELECT department, sales_date, 1 AS n, price AS yen FROM added WHERE cancelled_at IS NULL
              UNION ALL
              SELECT department, sales_date, -1, -price FROM removed WHERE cancelled_at IS NULL) AS change
        GROUP BY department, sales_date HAVING sum(n) <> 0 OR sum(yen) <> 0 ORDER BY sales_date, department
        ON CONFLICT (sales_date, department, shard)
        DO UPDATE SET count = d.count + excluded.count, total = d.total + excluded.total;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER sales_daily_after_insert AFTER INSERT ON sales
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION sales_daily_keep();
CREATE TRIGGER sales_daily_after_update AFTER UPDATE ON sales
    REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION sales_daily_keep();
CREATE TRIGGER sales_daily_after_delete AFTER DELETE ON sales
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION sales_daily_keep();

-- Row security. `sales_concierge.departments` holds a JSON array of names; `["*"]` stands for all. Unset, empty, or not an
-- array of texts: no department. A setting that is not JSON is such a thing, and not an error in each statement. Names are
-- whole, since a policy runs below the search_path of whoever asks.
CREATE FUNCTION departments_now() RETURNS text[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    setting CONSTANT text := pg_catalog.current_setting('sales_concierge.departments', true);
BEGIN
    IF setting IS NULL OR setting = '' THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(SELECT pg_catalog.json_array_elements_text(setting::pg_catalog.json));
EXCEPTION WHEN data_exception THEN
    RETURN '{}';
END
$$;

ALTER TABLE customers ENABLE ROW LEVEL SECURITY;
ALTER TABLE customers FORCE ROW LEVEL SECURITY;
ALTER TABLE sales ENABLE ROW LEVEL SECURITY;
ALTER TABLE sales FORCE ROW LEVEL SECURITY;
ALTER TABLE customer_grams ENABLE ROW LEVEL SECURITY;
ALTER TABLE customer_grams FORCE ROW LEVEL SECURITY;
ALTER TABLE sales_daily ENABLE ROW LEVEL SECURITY;
ALTER TABLE sales_daily FORCE ROW LEVEL SECURITY;

-- The owner's own functions compare departments themselves: a policy would come before the index of names, since
-- PostgreSQL runs no operator that could leak a row below one.
CREATE POLICY owner ON customers TO sales_concierge_owner USING (true);
CREATE POLICY owner ON sales TO sales_concierge_owner USING (true);
CREATE POLICY owner ON customer_grams TO sales_concierge_owner USING (true);
CREATE POLICY owner ON sales_daily TO sales_concierge_owner USING (true);
CREATE POLICY departments ON customers FOR SELECT TO sales_concierge_reader
    USING ((SELECT '*' = ANY (departments_now())) OR department = ANY ((SELECT departments_now())::text[]));
CREATE POLICY departments ON sales FOR SELECT TO sales_concierge_reader
    USING ((SELECT '*' = ANY (departments_now())) OR department = ANY ((SELECT departments_now())::text[]));
CREATE POLICY departments ON sales_daily FOR SELECT TO sales_concierge_reader
    USING ((SELECT '*' = ANY (departments_now())) OR department = ANY ((SELECT departments_now())::text[]));

GRANT SELECT ON customers, sales, sales_daily TO sales_concierge_reader;
GRANT EXECUTE ON FUNCTION departments_now(), search_form(text) TO sales_concierge_reader;

RESET ROLE;
