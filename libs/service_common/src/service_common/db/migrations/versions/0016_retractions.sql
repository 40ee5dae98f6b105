-- Retractions of what was final, and webhooks that lost count of what they sent.

ALTER TABLE hub_index.changes ADD COLUMN retracts_final boolean NOT NULL DEFAULT false;
ALTER TABLE hub_index_scratch.changes ADD COLUMN retracts_final boolean NOT NULL DEFAULT false;
ALTER TABLE webhooks.deliveries ADD COLUMN missed_block bigint;
-- A webhook's place is from now on that of the last change it looked at, whether it heard it or not.
UPDATE webhooks.deliveries AS d
SET sent_block = c.block_number, sent_log = c.log_index
FROM hub_index.changes AS c
WHERE c.number = (
    SELECT max(number) FROM hub_index.changes WHERE log_index IS NOT NULL AND number <= d.after_number
) AND (c.block_number, c.log_index) > (d.sent_block, d.sent_log);
