-- The whole schema of a deployment: `service-api migrate` runs this file in an empty database, and then grants.sql. The
-- tables are those of service_common.db and of the services; tests/common/db/test_schema.py compares them.

CREATE TABLE schema_version (
    digest text PRIMARY KEY
);

-- The bytes and results that the api keeps. Written by the api and its worker.
CREATE SCHEMA app;

CREATE TABLE app.challenge_pages (
    spec_commitment text PRIMARY KEY,
    content bytea NOT NULL,
    submission_deadline bigint NOT NULL,
    pending_bytes integer
);
CREATE INDEX challenge_pages_pending ON app.challenge_pages (pending_bytes) WHERE pending_bytes IS NOT NULL;

CREATE TABLE app.challenge_summaries (
    spec_commitment text PRIMARY KEY REFERENCES app.challenge_pages ON DELETE CASCADE,
    title text NOT NULL,
    summary text NOT NULL,
    words tsvector NOT NULL GENERATED ALWAYS AS (to_tsvector('simple', title || ' ' || summary)) STORED,
    tags text[] NOT NULL DEFAULT '{}',
    folded text NOT NULL,
    grams integer[] NOT NULL
);
CREATE INDEX challenge_summaries_grams ON app.challenge_summaries USING gin (grams);
CREATE INDEX challenge_summaries_tags ON app.challenge_summaries USING gin (tags);
CREATE INDEX challenge_summaries_words ON app.challenge_summaries USING gin (words);

CREATE TABLE app.defects (
    bounty_id bigint NOT NULL,
    solver text NOT NULL,
    submission_commitment text NOT NULL,
    found_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bounty_id, solver, submission_commitment)
);

CREATE TABLE app.processed_approvals (
    approval_digest text PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now(),
    block_number bigint NOT NULL
);

CREATE TABLE app.review_charges (
    review_id text PRIMARY KEY,
    poster text NOT NULL,
    charged_at timestamptz NOT NULL DEFAULT now(),
    attempt text NOT NULL DEFAULT ''
);
CREATE INDEX review_charges_poster ON app.review_charges (poster, charged_at);

CREATE TABLE app.submission_envelopes (
    bounty_id bigint NOT NULL,
    solver text NOT NULL,
    submission_commitment text NOT NULL,
    content bytea NOT NULL,
    storage_locator text NOT NULL,
    pending_bytes integer,
    PRIMARY KEY (bounty_id, solver, submission_commitment)
);
CREATE INDEX submission_envelopes_commitment ON app.submission_envelopes (bounty_id, submission_commitment);
CREATE INDEX submission_envelopes_pending ON app.submission_envelopes (pending_bytes) WHERE pending_bytes IS NOT NULL;

CREATE TABLE app.verification_records (
    bounty_id bigint PRIMARY KEY,
    content bytea NOT NULL,
    block_hash text NOT NULL
);

CREATE TABLE app.verified_objects (
    storage_locator text NOT NULL,
    generation bigint NOT NULL,
    sha256 text NOT NULL,
    byte_length bigint NOT NULL,
    verified_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (storage_locator, generation)
);

CREATE TABLE app.withholdings (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    subject text NOT NULL,
    bounty_id bigint,
    reason text NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    until timestamptz,
    ended_at timestamptz,
    since_block bigint
);
CREATE UNIQUE INDEX withholdings_not_ended ON app.withholdings (kind, subject) WHERE ended_at IS NULL;

CREATE TABLE app.written_verdicts (
    report_commitment text PRIMARY KEY,
    content bytea NOT NULL,
    bounty_id bigint NOT NULL,
    guardian text NOT NULL
);
CREATE INDEX written_verdicts_guardian ON app.written_verdicts (bounty_id, guardian);

-- Wrapped content keys. Written by the delivery service; no other role reads it.
CREATE SCHEMA delivery;

CREATE TABLE delivery.wraps (
    bounty_id bigint NOT NULL,
    solver text NOT NULL,
    submission_commitment text NOT NULL,
    wrapped_key bytea NOT NULL,
    key_id text NOT NULL,
    PRIMARY KEY (bounty_id, solver, submission_commitment)
);

-- The copy of the Hub's events. Written by the indexer.
CREATE SCHEMA hub_index;

CREATE TABLE hub_index.bounties (
    bounty_id bigint PRIMARY KEY,
    poster text NOT NULL,
    spec_commitment text NOT NULL,
    guardian_roster_hash text NOT NULL,
    roster_version bigint NOT NULL,
    escrow_amount numeric(78, 0) NOT NULL,
    submission_deadline bigint NOT NULL,
    reveal_at bigint NOT NULL,
    judging_deadline bigint NOT NULL,
    protocol_fee numeric(78, 0) NOT NULL,
    guardian_fee numeric(78, 0) NOT NULL,
    protocol_fee_recipient text NOT NULL,
    authorization_nonce text NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL
);
CREATE INDEX bounties_award ON hub_index.bounties ((escrow_amount - protocol_fee - guardian_fee), bounty_id);
CREATE INDEX bounties_block ON hub_index.bounties (block_number);
CREATE INDEX bounties_deadline ON hub_index.bounties (submission_deadline, bounty_id);
CREATE INDEX bounties_judging ON hub_index.bounties (judging_deadline);
CREATE INDEX bounties_page ON hub_index.bounties (spec_commitment);
CREATE INDEX bounties_poster ON hub_index.bounties (poster, bounty_id);
CREATE INDEX bounties_roster ON hub_index.bounties (roster_version, bounty_id);

CREATE TABLE hub_index.changes (
    number bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    block_number bigint NOT NULL,
    log_index bigint
);
CREATE UNIQUE INDEX changes_place ON hub_index.changes (block_number, log_index);

CREATE TABLE hub_index.claims (
    bounty_id bigint NOT NULL,
    kind text NOT NULL,
    recipient text NOT NULL,
    amount numeric(78, 0) NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX claims_block ON hub_index.claims (block_number);
CREATE INDEX claims_bounty ON hub_index.claims (bounty_id);
CREATE INDEX claims_recipient ON hub_index.claims (recipient, block_number);

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

CREATE TABLE hub_index.delivery_keys (
    key text NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    effective_from bigint NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX delivery_keys_block ON hub_index.delivery_keys (block_number);

CREATE TABLE hub_index.fee_policies (
    protocol_fee_bps integer NOT NULL,
    guardian_fee_bps integer NOT NULL,
    recipient text NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX fee_policies_block ON hub_index.fee_policies (block_number);

CREATE TABLE hub_index.finalizations (
    bounty_id bigint PRIMARY KEY,
    outcome smallint NOT NULL,
    reason smallint NOT NULL,
    winner text NOT NULL,
    submission_commitment text NOT NULL,
    award numeric(78, 0) NOT NULL,
    refund numeric(78, 0) NOT NULL,
    protocol_fee numeric(78, 0) NOT NULL,
    guardian_fee_each numeric(78, 0) NOT NULL,
    guardian_fee_count integer NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL
);
CREATE INDEX finalizations_block ON hub_index.finalizations (block_number);

CREATE TABLE hub_index.head (
    chain_id bigint PRIMARY KEY,
    hub_address text NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    block_time bigint NOT NULL,
    finalized_number bigint NOT NULL,
    finalized_hash text NOT NULL,
    finalized_time bigint NOT NULL,
    tip_number bigint NOT NULL,
    halted text,
    reorg_count bigint NOT NULL DEFAULT 0,
    deepest_reorg bigint NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE hub_index.heartbeats (
    guardian text NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX heartbeats_block ON hub_index.heartbeats (block_number);
CREATE INDEX heartbeats_guardian ON hub_index.heartbeats (guardian, block_number, log_index);

CREATE TABLE hub_index.logs (
    bounty_id bigint,
    topics text[] NOT NULL,
    data bytea NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX logs_block ON hub_index.logs (block_number);
CREATE INDEX logs_bounty ON hub_index.logs (bounty_id, block_number, log_index);
CREATE INDEX logs_of_no_bounty ON hub_index.logs ((topics[1]), block_number, log_index) WHERE bounty_id IS NULL;

CREATE TABLE hub_index.open_bounties (
    bounty_id bigint PRIMARY KEY,
    submission_deadline bigint NOT NULL,
    reveal_at bigint NOT NULL,
    judging_deadline bigint NOT NULL
);

CREATE TABLE hub_index.roster_members (
    version bigint NOT NULL,
    position integer NOT NULL,
    guardian text NOT NULL,
    encryption_public_key text NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (version, position)
);
CREATE INDEX roster_members_block ON hub_index.roster_members (block_number);
CREATE INDEX roster_members_guardian ON hub_index.roster_members (guardian);

CREATE TABLE hub_index.rosters (
    version bigint PRIMARY KEY,
    guardian_roster_hash text NOT NULL,
    quorum integer NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    effective_from bigint NOT NULL
);
CREATE INDEX rosters_block ON hub_index.rosters (block_number);

CREATE TABLE hub_index.submissions (
    bounty_id bigint NOT NULL,
    solver text NOT NULL,
    submission_commitment text NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX submissions_block ON hub_index.submissions (block_number);
CREATE INDEX submissions_latest ON hub_index.submissions (bounty_id, solver, block_number, log_index);
CREATE INDEX submissions_solver ON hub_index.submissions (solver, bounty_id);

CREATE TABLE hub_index.totals (
    bounties bigint NOT NULL,
    awarded bigint NOT NULL,
    unawarded bigint NOT NULL,
    escrowed numeric(78, 0) NOT NULL,
    awards_paid numeric(78, 0) NOT NULL,
    refunds_paid numeric(78, 0) NOT NULL,
    guardian_fees_paid numeric(78, 0) NOT NULL,
    protocol_fees_paid numeric(78, 0) NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX totals_block ON hub_index.totals (block_number);

CREATE TABLE hub_index.verdicts (
    bounty_id bigint NOT NULL,
    guardian text NOT NULL,
    kind smallint NOT NULL,
    solver text NOT NULL,
    submission_commitment text NOT NULL,
    report_commitment text NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    log_index bigint NOT NULL,
    tx_hash text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX verdicts_block ON hub_index.verdicts (block_number);
CREATE INDEX verdicts_guardian ON hub_index.verdicts (guardian, block_number, log_index);
CREATE INDEX verdicts_latest ON hub_index.verdicts (bounty_id, guardian, block_number, log_index);

-- A bounty is in open_bounties exactly while it has no ending. Triggers keep it so, whatever writes or retracts a fact.
CREATE FUNCTION hub_index.keep_open_bounties() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER keep_open_after_delete AFTER DELETE ON hub_index.bounties
    REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION hub_index.keep_open_bounties();
CREATE TRIGGER keep_open_after_delete AFTER DELETE ON hub_index.finalizations
    REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION hub_index.keep_open_bounties();
CREATE TRIGGER keep_open_after_insert AFTER INSERT ON hub_index.bounties
    REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION hub_index.keep_open_bounties();
CREATE TRIGGER keep_open_after_insert AFTER INSERT ON hub_index.finalizations
    REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION hub_index.keep_open_bounties();

-- A second copy of the index, which a rebuild fills and puts in the place of the first in one transaction. Written by
-- the indexer; no other role reads it.
CREATE SCHEMA hub_index_scratch;

CREATE TABLE hub_index_scratch.bounties (LIKE hub_index.bounties INCLUDING ALL);
CREATE TABLE hub_index_scratch.changes (LIKE hub_index.changes INCLUDING ALL);
CREATE TABLE hub_index_scratch.claims (LIKE hub_index.claims INCLUDING ALL);
CREATE TABLE hub_index_scratch.delivery_key_withdrawals (LIKE hub_index.delivery_key_withdrawals INCLUDING ALL);
CREATE TABLE hub_index_scratch.delivery_keys (LIKE hub_index.delivery_keys INCLUDING ALL);
CREATE TABLE hub_index_scratch.fee_policies (LIKE hub_index.fee_policies INCLUDING ALL);
CREATE TABLE hub_index_scratch.finalizations (LIKE hub_index.finalizations INCLUDING ALL);
CREATE TABLE hub_index_scratch.head (LIKE hub_index.head INCLUDING ALL);
CREATE TABLE hub_index_scratch.heartbeats (LIKE hub_index.heartbeats INCLUDING ALL);
CREATE TABLE hub_index_scratch.logs (LIKE hub_index.logs INCLUDING ALL);
CREATE TABLE hub_index_scratch.roster_members (LIKE hub_index.roster_members INCLUDING ALL);
CREATE TABLE hub_index_scratch.rosters (LIKE hub_index.rosters INCLUDING ALL);
CREATE TABLE hub_index_scratch.submissions (LIKE hub_index.submissions INCLUDING ALL);
CREATE TABLE hub_index_scratch.totals (LIKE hub_index.totals INCLUDING ALL);
CREATE TABLE hub_index_scratch.verdicts (LIKE hub_index.verdicts INCLUDING ALL);

-- Readiness reviews. Written by the reviewer.
CREATE SCHEMA review;

CREATE TABLE review.paid_calls (
    call_id text PRIMARY KEY,
    review_id text NOT NULL,
    called_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX paid_calls_called_at ON review.paid_calls (called_at);

CREATE TABLE review.reviews (
    review_id text PRIMARY KEY,
    issues jsonb NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT now()
);

-- The transactions that the settler sent. Written by the indexer's role.
CREATE SCHEMA settler;

CREATE TABLE settler.settlements (
    bounty_id bigint PRIMARY KEY,
    account text NOT NULL,
    nonce bigint NOT NULL,
    max_fee numeric(78, 0) NOT NULL,
    tip numeric(78, 0) NOT NULL,
    raw_transaction text NOT NULL,
    tx_hash text NOT NULL,
    attempts integer NOT NULL,
    sent_at timestamptz NOT NULL DEFAULT now()
);
