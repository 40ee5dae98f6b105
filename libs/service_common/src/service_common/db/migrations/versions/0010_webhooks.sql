-- Webhooks. The api writes who is to hear of what; the worker of the queue webhooks, whose role is service_webhooks,
-- writes how far each has heard, and reads the facts it sends.

CREATE SCHEMA webhooks;

CREATE TABLE webhooks.subscriptions (
    webhook_id text NOT NULL,
    subscriber text NOT NULL,
    url text NOT NULL,
    subject text NOT NULL,
    finality text NOT NULL,
    sealed_secret text NOT NULL,
    former_sealed_secret text,
    former_until timestamp with time zone,
    after_number bigint NOT NULL,
    after_block bigint NOT NULL,
    test_requested_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (webhook_id)
);
CREATE UNIQUE INDEX subscriptions_once ON webhooks.subscriptions (subscriber, url, subject, finality);

CREATE TABLE webhooks.deliveries (
    webhook_id text NOT NULL REFERENCES webhooks.subscriptions ON DELETE CASCADE,
    state text NOT NULL,
    after_number bigint NOT NULL,
    sent_block bigint NOT NULL,
    sent_log bigint NOT NULL,
    until_number bigint,
    failure_count integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    next_attempt_at timestamp with time zone NOT NULL,
    last_attempt_at timestamp with time zone,
    last_success_at timestamp with time zone,
    last_result text,
    last_status integer,
    slow_until timestamp with time zone,
    tested_at timestamp with time zone,
    PRIMARY KEY (webhook_id)
);

CREATE TABLE webhooks.progress (
    chain_id bigint NOT NULL,
    caught_up_at timestamp with time zone NOT NULL,
    PRIMARY KEY (chain_id)
);

GRANT USAGE ON SCHEMA webhooks TO service_api, service_webhooks;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks.subscriptions TO service_api;
GRANT SELECT ON webhooks.subscriptions TO service_webhooks;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks.deliveries, webhooks.progress TO service_webhooks;
GRANT SELECT ON webhooks.deliveries, webhooks.progress TO service_api;

GRANT USAGE ON SCHEMA hub_index TO service_webhooks;
GRANT SELECT ON hub_index.head, hub_index.logs, hub_index.changes, hub_index.bounties, hub_index.submissions,
    hub_index.rosters, hub_index.roster_members TO service_webhooks;
GRANT SELECT ON schema_version TO service_webhooks;
