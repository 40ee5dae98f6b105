-- The index compares itself with the chain: how far it is with that, and which bounties have rows that are proven wrong.

ALTER TABLE hub_index.head
    ADD COLUMN compare_next bigint NOT NULL DEFAULT 0,
    ADD COLUMN compare_new bigint NOT NULL DEFAULT 0,
    ADD COLUMN compare_began timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN compared_at timestamptz,
    ADD COLUMN disputed integer NOT NULL DEFAULT 0;
ALTER TABLE hub_index_scratch.head
    ADD COLUMN compare_next bigint NOT NULL DEFAULT 0,
    ADD COLUMN compare_new bigint NOT NULL DEFAULT 0,
    ADD COLUMN compare_began timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN compared_at timestamptz,
    ADD COLUMN disputed integer NOT NULL DEFAULT 0;

CREATE TABLE hub_index.disputes (
    bounty_id bigint NOT NULL,
    block_number bigint NOT NULL,
    found_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bounty_id, block_number)
);
GRANT SELECT ON hub_index.disputes TO service_api, service_delivery;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub_index.disputes TO service_indexer;
