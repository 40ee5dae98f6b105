-- How the copy follows its chain (the newest block the chain showed, reorgs so far), and ranges of final blocks that were
-- read ahead of the one ordered writer.

ALTER TABLE hub_index.head
    ADD COLUMN tip_number bigint NOT NULL DEFAULT 0,
    ADD COLUMN reorg_count bigint NOT NULL DEFAULT 0,
    ADD COLUMN deepest_reorg bigint NOT NULL DEFAULT 0;
ALTER TABLE hub_index_scratch.head
    ADD COLUMN tip_number bigint NOT NULL DEFAULT 0,
    ADD COLUMN reorg_count bigint NOT NULL DEFAULT 0,
    ADD COLUMN deepest_reorg bigint NOT NULL DEFAULT 0;

CREATE TABLE hub_index.backfill (
    chain_id bigint NOT NULL,
    first_block bigint NOT NULL,
    last_block bigint NOT NULL,
    stretch text NOT NULL,
    PRIMARY KEY (chain_id, first_block)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON hub_index.backfill TO service_indexer;
