-- Rosters and delivery keys take effect after a public delay; rows without a moment took effect in their block. A delivery
-- key can be withdrawn.

ALTER TABLE hub_index.rosters ADD COLUMN effective_from bigint;
ALTER TABLE hub_index_scratch.rosters ADD COLUMN effective_from bigint;
ALTER TABLE hub_index.delivery_keys ADD COLUMN effective_from bigint;
ALTER TABLE hub_index_scratch.delivery_keys ADD COLUMN effective_from bigint;

CREATE TABLE hub_index.delivery_key_withdrawals (
    key text NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX delivery_key_withdrawals_block ON hub_index.delivery_key_withdrawals (block_number);
CREATE TABLE hub_index_scratch.delivery_key_withdrawals (LIKE hub_index.delivery_key_withdrawals INCLUDING ALL);
GRANT SELECT ON hub_index.delivery_key_withdrawals TO service_api, service_delivery;
GRANT SELECT, INSERT, UPDATE, DELETE
    ON hub_index.delivery_key_withdrawals, hub_index_scratch.delivery_key_withdrawals TO service_indexer;
