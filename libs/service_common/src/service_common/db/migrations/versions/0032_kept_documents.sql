-- Which envelopes of recorded Submissions were kept here, so that an inspection notices one whose row is lost. The
-- inspection fills it, also for what a release before stored.

CREATE TABLE app.recorded_envelopes (
    bounty_id bigint NOT NULL,
    solver text NOT NULL,
    submission_commitment text NOT NULL,
    PRIMARY KEY (bounty_id, solver, submission_commitment)
);
GRANT SELECT, INSERT ON app.recorded_envelopes TO service_api;
