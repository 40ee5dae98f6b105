-- A second, empty copy of the index's tables: where a replay is compared, and where a rebuild is prepared before it
-- takes the place of the first in one transaction. Written by the indexer's role only, read by nobody else.

CREATE SCHEMA hub_index_scratch;

CREATE TABLE hub_index_scratch.blocks (LIKE hub_index.blocks INCLUDING ALL);
CREATE TABLE hub_index_scratch.bounties (LIKE hub_index.bounties INCLUDING ALL);
CREATE TABLE hub_index_scratch.claims (LIKE hub_index.claims INCLUDING ALL);
CREATE TABLE hub_index_scratch.delivery_keys (LIKE hub_index.delivery_keys INCLUDING ALL);
CREATE TABLE hub_index_scratch.fee_policies (LIKE hub_index.fee_policies INCLUDING ALL);
CREATE TABLE hub_index_scratch.finalizations (LIKE hub_index.finalizations INCLUDING ALL);
CREATE TABLE hub_index_scratch.head (LIKE hub_index.head INCLUDING ALL);
CREATE TABLE hub_index_scratch.heartbeats (LIKE hub_index.heartbeats INCLUDING ALL);
CREATE TABLE hub_index_scratch.logs (LIKE hub_index.logs INCLUDING ALL);
CREATE TABLE hub_index_scratch.roster_members (LIKE hub_index.roster_members INCLUDING ALL);
CREATE TABLE hub_index_scratch.rosters (LIKE hub_index.rosters INCLUDING ALL);
CREATE TABLE hub_index_scratch.submissions (LIKE hub_index.submissions INCLUDING ALL);
CREATE TABLE hub_index_scratch.verdicts (LIKE hub_index.verdicts INCLUDING ALL);

GRANT USAGE ON SCHEMA hub_index_scratch TO service_indexer;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hub_index_scratch TO service_indexer;
