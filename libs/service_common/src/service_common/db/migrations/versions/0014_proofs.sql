-- How far the copy is proven: the Hub's storage root after a block, by the state root of the block's header, and from
-- which block on the copy up to there lacks nothing that changed storage (0: from the first).

ALTER TABLE hub_index.head
    ADD COLUMN proven_number bigint,
    ADD COLUMN checked_number bigint NOT NULL DEFAULT 0,
    ADD COLUMN quiet boolean NOT NULL DEFAULT false;
ALTER TABLE hub_index_scratch.head
    ADD COLUMN proven_number bigint,
    ADD COLUMN checked_number bigint NOT NULL DEFAULT 0,
    ADD COLUMN quiet boolean NOT NULL DEFAULT false;

CREATE TABLE hub_index.proofs (
    number bigint NOT NULL PRIMARY KEY,
    hash text NOT NULL,
    storage_root text NOT NULL,
    since bigint NOT NULL
);
CREATE TABLE hub_index_scratch.proofs (LIKE hub_index.proofs INCLUDING ALL);
GRANT SELECT, INSERT, UPDATE, DELETE ON hub_index.proofs TO service_indexer;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub_index_scratch.proofs TO service_indexer;
