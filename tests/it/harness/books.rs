//! The checker: what must be true of the records and of Slack once everything has come to rest.

use super::Rig;

const CARDS: &str = "SELECT id, channel, state FROM proposals";

/// Each of these must find nothing.
const NOTHING: [(&str, &str); 9] = [
    (
        "a sale that no press of its requester on a card with exactly this content stands behind",
        "SELECT s.code_sales FROM sales s WHERE s.origin = 'approval' AND NOT EXISTS (
            SELECT 1 FROM proposals p JOIN clicks c ON c.id = p.claim_click AND c.proposal_id = p.id
            WHERE p.id = s.proposal_id AND p.state = 'done' AND p.tool = 'add_sale' AND p.digest = s.digest
              AND c.action = 'confirm' AND c.outcome = 'done' AND c.handled_at IS NOT NULL
              AND (c.team, c.user) = (p.requester_team, p.requester_user)
              AND s.registered_by = 'slack:' || p.requester_team || ':' || p.requester_user
              AND p.write->>'code_customer' = s.code_customer AND p.write->>'products' = s.products
              AND p.write->>'price' = s.price AND p.write->>'date_sales' = s.sales_date)",
    ),
    (
        "a confirmed proposal without its sale",
        "SELECT id FROM proposals p WHERE state = 'done' AND tool = 'add_sale'
            AND (SELECT count(*) FROM sales s WHERE s.proposal_id = p.id AND s.digest = p.digest
                   AND s.code_sales = p.result->>'code_sales') <> 1",
    ),
    (
        "a confirmed cancellation that did not happen",
        "SELECT id FROM proposals p WHERE state = 'done' AND tool = 'cancel_sale'
            AND (SELECT count(*) FROM sales s WHERE s.cancel_proposal = p.id AND s.cancelled_at IS NOT NULL) <> 1",
    ),
    ("a proposal that is still being carried out", "SELECT id FROM proposals WHERE state = 'claimed'"),
    ("a press that nobody handled", "SELECT id FROM clicks WHERE handled_at IS NULL"),
    (
        "a press without a visible outcome",
        "SELECT id FROM clicks c WHERE outcome NOT IN ('done', 'failed', 'cancelled')
            AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.key = 'press:' || c.id AND o.sent_version = o.version)",
    ),
    (
        "an ended proposal that is not told to the conversation exactly once",
        "SELECT id FROM proposals p WHERE state IN ('done', 'failed', 'cancelled', 'expired')
            AND (SELECT count(*) FROM history_events e WHERE instr(e.event, p.id) > 0) <> 1",
    ),
    (
        "a card that does not show how things are",
        "SELECT id FROM proposals p WHERE NOT EXISTS (
            SELECT 1 FROM outbox o WHERE o.key = 'card:' || p.id AND o.posted_ts IS NOT NULL
               AND o.sent_version = o.version AND o.given_up IS NULL
               AND instr(o.body, p.id || ':' || p.state) > 0)",
    ),
    ("a continuation that has not ended", "SELECT turn FROM continuations WHERE ended_at IS NULL"),
];

impl Rig {
    /// Everything that is wrong, in words; empty when the books are in order.
    pub async fn faults(&self) -> Vec<String> {
        let records = self.records().await;
        let mut faults = Vec::new();
        for (what, sql) in NOTHING {
            let found: Vec<String> = sqlx::query_scalar(sql).fetch_all(records.read()).await.expect(sql);
            faults.extend(found.into_iter().map(|id| format!("{what}: {id}")));
        }
        let proposals: Vec<(String, String, String)> =
            sqlx::query_as(CARDS).fetch_all(records.read()).await.expect("proposals");
        faults.extend(self.faults_in_slack(&proposals));
        records.close().await;
        faults
    }

    /// The same, where the records are in PostgreSQL.
    pub async fn faults_in(&self, admin: &sqlx::PgPool) -> Vec<String> {
        let mut faults = Vec::new();
        for (what, sql) in NOTHING {
            let sql = sql
                .replace("p.write->>'price' = s.price", "(p.write::json->>'price')::bigint = s.price")
                .replace("p.write->>'date_sales' = s.sales_date", "(p.write::json->>'date_sales')::date = s.sales_date")
                .replace("p.write->>", "p.write::json->>")
                .replace("p.result->>", "p.result::json->>")
                .replace("c.user", "c.\"user\"")
                .replace("instr(", "strpos(");
            let found: Vec<String> =
                sqlx::query_scalar(sqlx::AssertSqlSafe(sql.clone())).fetch_all(admin).await.expect(&sql);
            faults.extend(found.into_iter().map(|id| format!("{what}: {id}")));
        }
        let proposals: Vec<(String, String, String)> = sqlx::query_as(CARDS).fetch_all(admin).await.expect("proposals");
        faults.extend(self.faults_in_slack(&proposals));
        faults
    }

    /// Each proposal has one card, which looks as the proposal is.
    fn faults_in_slack(&self, proposals: &[(String, String, String)]) -> Vec<String> {
        let mut faults = Vec::new();
        for (id, channel, state) in proposals {
            let key = format!("card:{id}");
            let shown: Vec<_> = self
                .workspace
                .messages(channel)
                .into_iter()
                .filter(|m| m.metadata.as_ref().is_some_and(|d| d.to_string().contains(&key)))
                .collect();
            if shown.len() != 1 {
                faults.push(format!("{} cards of {id} in Slack", shown.len()));
            }
            let face = format!("{id}:{state}:");
            if !shown.iter().all(|m| m.blocks.as_ref().is_some_and(|b| b.to_string().contains(&face))) {
                faults.push(format!("the card of {id} does not look {state}"));
            }
        }
        faults
    }

    /// Waits for rest and asserts that the books are in order and that the model was never shown a broken history.
    pub async fn in_order(&self) {
        self.settles().await;
        assert_eq!(self.faults().await, Vec::<String>::new(), "log:\n{}", self.log());
        assert_eq!(self.model.faults(), Vec::<String>::new());
    }
}
