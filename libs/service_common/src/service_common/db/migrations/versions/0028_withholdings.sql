-- Text of others that the operator does not show: a page, a written Verdict, or all text of an account. A row for each
-- decision, which is never deleted; of those that are not ended, the ones count whose end is not reached.

CREATE TABLE app.withholdings (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    subject text NOT NULL,
    bounty_id bigint,
    reason text NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    until timestamptz,
    decided_by text NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    ended_by text,
    ended_why text
);
CREATE UNIQUE INDEX withholdings_not_ended ON app.withholdings (kind, subject) WHERE ended_at IS NULL;
GRANT SELECT, INSERT, UPDATE ON app.withholdings TO service_api;
GRANT SELECT ON app.withholdings TO service_webhooks;
