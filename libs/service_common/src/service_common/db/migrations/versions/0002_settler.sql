-- The settler's memory of what it sent, written by the indexer's role, of which it is a part.

CREATE SCHEMA settler;

CREATE TABLE settler.settlements (
    bounty_id BIGINT NOT NULL,
    nonce BIGINT NOT NULL,
    raw_transaction TEXT NOT NULL,
    tx_hash TEXT NOT NULL,
    max_fee_per_gas NUMERIC(78, 0) NOT NULL,
    attempts INTEGER NOT NULL,
    sent_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (bounty_id)
);

GRANT USAGE ON SCHEMA settler TO service_indexer;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA settler TO service_indexer;
