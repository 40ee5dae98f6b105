-- When a Guardian was last active, what it judged and what an account was paid, without a look at everybody's; the
-- bounties of a roster.

CREATE INDEX verdicts_guardian ON hub_index.verdicts (guardian, block_number, log_index);
DROP INDEX hub_index.heartbeats_guardian;
CREATE INDEX heartbeats_guardian ON hub_index.heartbeats (guardian, block_number, log_index);
CREATE INDEX claims_recipient ON hub_index.claims (recipient, block_number);
CREATE INDEX bounties_roster ON hub_index.bounties (roster_version, bounty_id);

-- The few bounties that are open among the many that were decided. Kept by triggers, so that a writer of a former release
-- keeps it, too, and a reorg or a rebuild needs no care: a bounty is in it exactly while it has no ending.

CREATE TABLE hub_index.open_bounties (bounty_id bigint NOT NULL PRIMARY KEY);
GRANT SELECT ON hub_index.open_bounties TO service_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub_index.open_bounties TO service_indexer;

CREATE FUNCTION hub_index.keep_open_bounties() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'bounties' AND TG_OP = 'INSERT' OR TG_TABLE_NAME = 'finalizations' AND TG_OP = 'DELETE' THEN
        INSERT INTO hub_index.open_bounties
            SELECT bounty_id FROM touched
            JOIN hub_index.bounties USING (bounty_id)
            WHERE NOT EXISTS (SELECT FROM hub_index.finalizations AS ended WHERE ended.bounty_id = touched.bounty_id)
            ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM hub_index.open_bounties USING touched WHERE open_bounties.bounty_id = touched.bounty_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER keep_open_after_insert AFTER INSERT ON hub_index.bounties
    REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION hub_index.keep_open_bounties();
CREATE TRIGGER keep_open_after_delete AFTER DELETE ON hub_index.bounties
    REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION hub_index.keep_open_bounties();
CREATE TRIGGER keep_open_after_insert AFTER INSERT ON hub_index.finalizations
    REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION hub_index.keep_open_bounties();
CREATE TRIGGER keep_open_after_delete AFTER DELETE ON hub_index.finalizations
    REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION hub_index.keep_open_bounties();

INSERT INTO hub_index.open_bounties
    SELECT bounty_id FROM hub_index.bounties
    WHERE NOT EXISTS (SELECT FROM hub_index.finalizations AS ended WHERE ended.bounty_id = bounties.bounty_id);
