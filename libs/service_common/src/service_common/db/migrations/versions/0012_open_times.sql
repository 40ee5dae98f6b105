-- When an open bounty's times are, beside its id: how many accept Submissions and how many can be judged is counted
-- without a look at each of them among all bounties.

ALTER TABLE hub_index.open_bounties
    ADD COLUMN submission_deadline bigint, ADD COLUMN reveal_at bigint, ADD COLUMN judging_deadline bigint;

CREATE OR REPLACE FUNCTION hub_index.keep_open_bounties() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'bounties' AND TG_OP = 'INSERT' OR TG_TABLE_NAME = 'finalizations' AND TG_OP = 'DELETE' THEN
        INSERT INTO hub_index.open_bounties (bounty_id, submission_deadline, reveal_at, judging_deadline)
            SELECT b.bounty_id, b.submission_deadline, b.reveal_at, b.judging_deadline FROM touched
            JOIN hub_index.bounties AS b ON b.bounty_id = touched.bounty_id
            WHERE NOT EXISTS (SELECT FROM hub_index.finalizations AS ended WHERE ended.bounty_id = touched.bounty_id)
            ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM hub_index.open_bounties USING touched WHERE open_bounties.bounty_id = touched.bounty_id;
    END IF;
    RETURN NULL;
END
$$;

UPDATE hub_index.open_bounties AS kept
    SET submission_deadline = b.submission_deadline, reveal_at = b.reveal_at, judging_deadline = b.judging_deadline
    FROM hub_index.bounties AS b WHERE b.bounty_id = kept.bounty_id;
