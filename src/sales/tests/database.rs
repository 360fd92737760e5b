//! What the database does by itself, whoever asks it.

use sqlx::postgres::PgPool;

use super::super::search_form;
use super::day;
use crate::domain::{Write, Yen};
use crate::records::testing::Database;
use crate::tokens::digest;

async fn forms(admin: &PgPool, names: &[String]) -> Vec<String> {
    sqlx::query_scalar("SELECT search_form(name) FROM unnest($1::text[]) WITH ORDINALITY AS t (name, i) ORDER BY i")
        .bind(names)
        .fetch_all(admin)
        .await
        .unwrap()
}

#[tokio::test]
async fn the_database_compares_names_as_the_program_does() {
    let database = Database::create().await;
    let admin = database.admin();
    // Letters that names are written with: Latin, Greek, Cyrillic, signs, kana, ideographs, width forms, selectors.
    let ranges = [
        0x21..0x530,
        0x1E00..0x2000,
        0x2010..0x2027,
        0x2030..0x205F,
        0x2100..0x2190,
        0x2460..0x2500,
        0x3001..0x3100,
        0x3131..0x318F,
        0x3200..0x3400,
        0x4E00..0xA000,
        0xAC00..0xD7A4,
        0xF900..0xFB00,
        0xFE00..0xFE10,
        0xFF01..0xFFEF,
        0x20B00..0x20C00,
        0x21200..0x21300,
        0xE0100..0xE01F0,
    ];
    let letters: Vec<String> = ranges.into_iter().flatten().filter_map(char::from_u32).map(String::from).collect();
    let mut names = letters.clone();
    names.extend(letters.windows(3).step_by(3).map(|three| three.concat()));
    names.extend(["か \u{3099}", "ﾊ\u{3000}ﾟ", "ｶ\u{FE00}ﾞ", "渡邊󠄀 Σας", "\u{85}a\u{A0}b"].map(String::from));
    let theirs = forms(&admin, &names).await;
    let different: Vec<_> = names
        .iter()
        .zip(&theirs)
        .filter(|(name, form)| search_form(name) != **form)
        .map(|(n, f)| (n, f, search_form(n)))
        .take(20)
        .collect();
    assert!(different.is_empty(), "{different:?}");
}

#[tokio::test]
async fn i03_the_database_computes_the_digest_of_the_card() {
    let database = Database::create().await;
    let admin = database.admin();
    let odd: String = (1..0x20)
        .chain([0x22, 0x2F, 0x5C, 0x7F, 0x80, 0x2028, 0x2029, 0xFFFD, 0x1F955])
        .filter_map(char::from_u32)
        .collect();
    for text in ["人参 10kg", "\"\\/", odd.as_str(), "か\u{3099}\u{FF76}"] {
        for price in [0, 1800, 999_999_999_999] {
            let (code, name, department) = (text.to_owned(), text.to_owned(), text.to_owned());
            let sale = Write::AddSale {
                code_customer: code.clone(),
                name_customer: name.clone(),
                department: department.clone(),
                products: text.into(),
                price: Yen(price),
                date_sales: day("2028-02-29"),
            };
            let cancellation = Write::CancelSale {
                code_sales: text.into(),
                code_customer: code,
                name_customer: name,
                department,
                products: text.into(),
                price: Yen(price),
                date_sales: day("2028-02-29"),
                reason: text.into(),
            };
            let (of_sale, of_cancellation): (String, String) = sqlx::query_as(
                "SELECT digest_of_sale(r), digest_of_cancellation(r, $1)
                 FROM (SELECT ROW($1, $1, $1, $1, '2028-02-29', $1, $2, '', '', false, '', NULL, 0)::sale_rows AS r) AS x",
            )
            .bind(text)
            .bind(price)
            .fetch_one(&admin)
            .await
            .unwrap();
            assert_eq!(of_sale, digest(&sale), "{text:?}");
            assert_eq!(of_cancellation, digest(&cancellation), "{text:?}");
        }
    }
}

#[tokio::test]
async fn totals_of_days_and_counts_of_grams_are_what_a_recount_gives_after_every_kind_of_change() {
    let database = Database::create().await;
    let admin = database.admin();
    let check = async |after: &str| {
        let wrong: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM
                 (SELECT department, sales_date, sum(count) AS n, sum(total) AS yen FROM sales_daily GROUP BY 1, 2
                  HAVING sum(count) <> 0 OR sum(total) <> 0) AS kept
             FULL JOIN
                 (SELECT department, sales_date, count(*) AS n, sum(price) AS yen FROM sales WHERE cancelled_at IS NULL
                  GROUP BY 1, 2) AS counted USING (department, sales_date, n, yen)
             WHERE kept IS NULL OR counted IS NULL",
        )
        .fetch_one(&admin)
        .await
        .unwrap();
        assert_eq!(wrong, 0, "{after}");
        let wrong: Vec<String> = sqlx::query_scalar(
            "SELECT gram FROM
                 (SELECT department, gram, sum(count) AS n FROM customer_grams GROUP BY 1, 2 HAVING sum(count) <> 0) AS kept
             FULL JOIN
                 (SELECT department, gram, count(*) AS n FROM customers, unnest(grams_of(name_search)) AS gram
                  GROUP BY 1, 2) AS counted USING (department, gram, n)
             WHERE kept IS NULL OR counted IS NULL",
        )
        .fetch_all(&admin)
        .await
        .unwrap();
        assert!(wrong.is_empty(), "{after}: {wrong:?}");
    };
    for sql in [
        "INSERT INTO customers (code_customer, name_customer, address, phone, department)
         SELECT 'C' || i, '架空商店' || i % 4, '-', '-', '部' || i % 3 FROM generate_series(1, 30) AS i",
        "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, registered_at,
                            cancelled_at, cancelled_by)
         SELECT 'S' || i, 'C' || 1 + i % 30, date '2026-01-01' + i % 50, '品', i, 'import', 'import', 0,
                CASE WHEN i % 7 = 0 THEN 1 END, CASE WHEN i % 7 = 0 THEN 'x' END
         FROM generate_series(1, 2000) AS i",
        "UPDATE customers SET department = '部9' WHERE code_customer IN ('C1', 'C2')",
        "UPDATE customers SET code_customer = 'D3' WHERE code_customer = 'C3'",
        "UPDATE sales SET price = price + 1 WHERE price < 100",
        "UPDATE sales SET sales_date = sales_date + 1 WHERE code_customer = 'C4'",
        "UPDATE sales SET cancelled_at = NULL, cancelled_by = NULL WHERE code_customer = 'C5'",
        "DELETE FROM sales WHERE code_customer = 'C6'",
        "UPDATE customers SET name_customer = '髙島屋' WHERE code_customer IN ('C7', 'C8')",
        "UPDATE customers SET address = '別の町'",
        "INSERT INTO customers (code_customer, name_customer, address, phone, department)
         VALUES ('C7', 'x', '-', '-', '部1'), ('E1', 'ああ', '-', '-', '部1')
         ON CONFLICT (code_customer) DO UPDATE SET name_customer = '架空' || excluded.name_customer",
        "DELETE FROM customers WHERE code_customer IN ('C6', 'E1')",
    ] {
        sqlx::query(sql).execute(&admin).await.unwrap();
        check(sql).await;
    }
    let moved: i64 =
        sqlx::query_scalar("SELECT count(*) FROM sales WHERE department = '部9'").fetch_one(&admin).await.unwrap();
    assert!(moved > 0, "a sale follows its customer");
}
