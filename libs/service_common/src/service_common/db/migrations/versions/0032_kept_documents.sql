-- Which envelopes of recorded Submissions were kept here, so that an inspection notices one whose row is lost. The
-- inspection fills it, also for what a release before stored.

CREATE TABLE app.recorded_envelopes (
    bounty_id bigint NOT NULL,
    solver text NOT NULL,
    submission_commitment text NOT NULL,
    PRIMARY KEY (bounty_id, solver, submission_commitment)
);
GRANT SELECT, INSERT ON app.recorded_envelopes TO service_api;

-- How many Verdicts of a Guardian on a bounty are kept is counted when one more is stored. The content of large ones is
-- stored apart, so that the index is built by a look through the rows' keys alone.

CREATE INDEX written_verdicts_guardian ON app.written_verdicts (bounty_id, guardian);
