-- The newest block when a text was first not shown: who became a party of its bounty later does not read it. Null of a
-- decision by a release before: the same decision once more sets it.

ALTER TABLE app.withholdings ADD COLUMN since_block bigint;
