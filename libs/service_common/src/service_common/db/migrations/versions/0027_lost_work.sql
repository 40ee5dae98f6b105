-- Whose sealed work was found lost, and the notices of it that webhooks get. Null in rows of the release before: its next
-- inspection fills them.

ALTER TABLE app.defects ADD COLUMN lost_by text;
CREATE TABLE app.work_notices (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    bounty_id bigint NOT NULL,
    solver text NOT NULL,
    submission_commitment text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE webhooks.deliveries ADD COLUMN after_notice bigint;
GRANT SELECT, INSERT, DELETE ON app.work_notices TO service_api;
GRANT SELECT ON app.work_notices TO service_webhooks;
