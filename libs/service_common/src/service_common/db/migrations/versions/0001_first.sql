-- The first schema: one per writer, and the rights of each service's role.
--
-- Roles (service_api, service_indexer, service_reviewer, service_delivery) are made by the operator, passwords
-- included; a migration only grants. Who writes what: the docstrings of service_common.db.

CREATE SCHEMA hub_index;

CREATE TABLE hub_index.blocks (
    number BIGINT NOT NULL,
    hash TEXT NOT NULL,
    parent_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (number)
);

CREATE TABLE hub_index.bounties (
    bounty_id BIGINT NOT NULL,
    poster TEXT NOT NULL,
    spec_commitment TEXT NOT NULL,
    guardian_roster_hash TEXT NOT NULL,
    roster_version BIGINT NOT NULL,
    escrow_amount NUMERIC(78, 0) NOT NULL,
    submission_deadline BIGINT NOT NULL,
    reveal_at BIGINT NOT NULL,
    judging_deadline BIGINT NOT NULL,
    protocol_fee NUMERIC(78, 0) NOT NULL,
    guardian_fee NUMERIC(78, 0) NOT NULL,
    protocol_fee_recipient TEXT NOT NULL,
    authorization_nonce TEXT NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (bounty_id)
);
CREATE INDEX bounties_block ON hub_index.bounties (block_number);
CREATE INDEX bounties_poster ON hub_index.bounties (poster, bounty_id);

CREATE TABLE hub_index.claims (
    bounty_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    recipient TEXT NOT NULL,
    amount NUMERIC(78, 0) NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX claims_block ON hub_index.claims (block_number);
CREATE INDEX claims_bounty ON hub_index.claims (bounty_id);

CREATE TABLE hub_index.delivery_keys (
    key TEXT NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX delivery_keys_block ON hub_index.delivery_keys (block_number);

CREATE TABLE hub_index.fee_policies (
    protocol_fee_bps INTEGER NOT NULL,
    guardian_fee_bps INTEGER NOT NULL,
    recipient TEXT NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX fee_policies_block ON hub_index.fee_policies (block_number);

CREATE TABLE hub_index.finalizations (
    bounty_id BIGINT NOT NULL,
    outcome SMALLINT NOT NULL,
    reason SMALLINT NOT NULL,
    winner TEXT NOT NULL,
    submission_commitment TEXT NOT NULL,
    award NUMERIC(78, 0) NOT NULL,
    refund NUMERIC(78, 0) NOT NULL,
    protocol_fee NUMERIC(78, 0) NOT NULL,
    guardian_fee_each NUMERIC(78, 0) NOT NULL,
    guardian_fee_count INTEGER NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (bounty_id)
);
CREATE INDEX finalizations_block ON hub_index.finalizations (block_number);

CREATE TABLE hub_index.head (
    chain_id BIGINT NOT NULL,
    hub_address TEXT NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    block_time BIGINT NOT NULL,
    finalized_number BIGINT NOT NULL,
    finalized_time BIGINT NOT NULL,
    halted TEXT,
    fence BIGINT NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (chain_id)
);

CREATE TABLE hub_index.heartbeats (
    guardian TEXT NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX heartbeats_block ON hub_index.heartbeats (block_number);
CREATE INDEX heartbeats_guardian ON hub_index.heartbeats (guardian);

CREATE TABLE hub_index.logs (
    bounty_id BIGINT,
    topics TEXT[] NOT NULL,
    data BYTEA NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX logs_block ON hub_index.logs (block_number);
CREATE INDEX logs_bounty ON hub_index.logs (bounty_id, block_number, log_index);

CREATE TABLE hub_index.roster_members (
    version BIGINT NOT NULL,
    position INTEGER NOT NULL,
    guardian TEXT NOT NULL,
    encryption_public_key TEXT NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (version, position)
);
CREATE INDEX roster_members_block ON hub_index.roster_members (block_number);
CREATE INDEX roster_members_guardian ON hub_index.roster_members (guardian);

CREATE TABLE hub_index.rosters (
    version BIGINT NOT NULL,
    guardian_roster_hash TEXT NOT NULL,
    quorum INTEGER NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (version)
);
CREATE INDEX rosters_block ON hub_index.rosters (block_number);

CREATE TABLE hub_index.submissions (
    bounty_id BIGINT NOT NULL,
    solver TEXT NOT NULL,
    submission_commitment TEXT NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX submissions_block ON hub_index.submissions (block_number);
CREATE INDEX submissions_latest ON hub_index.submissions (bounty_id, solver, block_number, log_index);
CREATE INDEX submissions_solver ON hub_index.submissions (solver, bounty_id);

CREATE TABLE hub_index.verdicts (
    bounty_id BIGINT NOT NULL,
    guardian TEXT NOT NULL,
    kind SMALLINT NOT NULL,
    solver TEXT NOT NULL,
    submission_commitment TEXT NOT NULL,
    report_commitment TEXT NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    log_index BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (block_number, log_index)
);
CREATE INDEX verdicts_block ON hub_index.verdicts (block_number);
CREATE INDEX verdicts_latest ON hub_index.verdicts (bounty_id, guardian, block_number, log_index);

CREATE SCHEMA app;

CREATE TABLE app.challenge_pages (
    spec_commitment TEXT NOT NULL,
    content BYTEA NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (spec_commitment)
);

CREATE TABLE app.processed_approvals (
    approval_digest TEXT NOT NULL,
    poster TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (approval_digest)
);

CREATE TABLE app.review_charges (
    review_id TEXT NOT NULL,
    poster TEXT NOT NULL,
    charged_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (review_id)
);
CREATE INDEX review_charges_poster ON app.review_charges (poster, charged_at);

CREATE TABLE app.submission_envelopes (
    bounty_id BIGINT NOT NULL,
    solver TEXT NOT NULL,
    submission_commitment TEXT NOT NULL,
    content BYTEA NOT NULL,
    storage_locator TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (bounty_id, solver, submission_commitment)
);
CREATE INDEX submission_envelopes_commitment ON app.submission_envelopes (bounty_id, submission_commitment);

CREATE TABLE app.verification_records (
    bounty_id BIGINT NOT NULL,
    content BYTEA NOT NULL,
    block_hash TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (bounty_id)
);

CREATE TABLE app.verified_objects (
    storage_locator TEXT NOT NULL,
    generation BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    byte_length BIGINT NOT NULL,
    verified_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (storage_locator, generation)
);

CREATE TABLE app.written_verdicts (
    report_commitment TEXT NOT NULL,
    content BYTEA NOT NULL,
    bounty_id BIGINT NOT NULL,
    guardian TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (report_commitment)
);

CREATE SCHEMA review;

CREATE TABLE review.reviews (
    review_id TEXT NOT NULL,
    poster TEXT NOT NULL,
    spec_commitment TEXT NOT NULL,
    rubric_version TEXT NOT NULL,
    rubric_hash TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input_hash TEXT NOT NULL,
    prompt_hash TEXT NOT NULL,
    output_hash TEXT NOT NULL,
    result TEXT NOT NULL,
    issues JSONB NOT NULL,
    duration_ms INTEGER NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (review_id)
);

CREATE SCHEMA delivery;

CREATE TABLE delivery.wraps (
    bounty_id BIGINT NOT NULL,
    solver TEXT NOT NULL,
    submission_commitment TEXT NOT NULL,
    wrapped_key BYTEA NOT NULL,
    key_id TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (bounty_id, solver, submission_commitment)
);

GRANT USAGE ON SCHEMA hub_index TO service_api, service_indexer, service_delivery;
GRANT SELECT ON ALL TABLES IN SCHEMA hub_index TO service_api, service_delivery;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hub_index TO service_indexer;

GRANT USAGE ON SCHEMA app TO service_api, service_delivery;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA app TO service_api;
GRANT SELECT ON app.submission_envelopes TO service_delivery;

GRANT USAGE ON SCHEMA review TO service_api, service_reviewer;
GRANT SELECT ON ALL TABLES IN SCHEMA review TO service_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA review TO service_reviewer;

GRANT USAGE ON SCHEMA delivery TO service_delivery;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA delivery TO service_delivery;
