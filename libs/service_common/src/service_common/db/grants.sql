-- What each service's role may do. The operator creates the roles, passwords included: docs/install.md, "The first
-- deployment". Each schema has one writer.

GRANT SELECT ON schema_version
    TO service_api, service_pages, service_indexer, service_reviewer, service_delivery;

GRANT USAGE ON SCHEMA app TO service_api, service_pages, service_delivery;
GRANT SELECT, INSERT, UPDATE, DELETE
    ON app.challenge_pages, app.challenge_summaries, app.defects, app.processed_approvals,
        app.review_charges, app.submission_envelopes, app.verification_records, app.verified_objects, app.written_verdicts
    TO service_api;
GRANT SELECT, INSERT, UPDATE ON app.withholdings TO service_api;
GRANT SELECT ON app.submission_envelopes TO service_delivery;
GRANT SELECT
    ON app.challenge_pages, app.challenge_summaries, app.defects, app.submission_envelopes, app.verification_records,
        app.withholdings, app.written_verdicts
    TO service_pages;

GRANT USAGE ON SCHEMA delivery TO service_delivery;
GRANT SELECT, INSERT, UPDATE, DELETE ON delivery.wraps TO service_delivery;

GRANT USAGE ON SCHEMA hub_index TO service_indexer, service_api, service_pages, service_delivery;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hub_index TO service_indexer;
GRANT SELECT
    ON hub_index.bounties, hub_index.changes, hub_index.claims, hub_index.delivery_key_withdrawals,
        hub_index.delivery_keys, hub_index.fee_policies, hub_index.finalizations, hub_index.head,
        hub_index.heartbeats, hub_index.logs, hub_index.roster_members, hub_index.rosters, hub_index.submissions,
        hub_index.totals, hub_index.verdicts
    TO service_api, service_pages, service_delivery;
GRANT SELECT ON hub_index.open_bounties TO service_api, service_pages;

GRANT USAGE ON SCHEMA hub_index_scratch TO service_indexer;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hub_index_scratch TO service_indexer;

GRANT USAGE ON SCHEMA review TO service_reviewer, service_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON review.paid_calls, review.reviews TO service_reviewer;
GRANT SELECT ON review.reviews TO service_api;

GRANT USAGE ON SCHEMA settler TO service_indexer;
GRANT SELECT, INSERT, UPDATE, DELETE ON settler.settlements TO service_indexer;
