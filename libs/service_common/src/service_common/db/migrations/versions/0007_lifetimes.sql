-- What tells when a row has served its time. Rows of the release before have none, and end by their age.
ALTER TABLE app.processed_approvals ADD COLUMN block_number bigint;
ALTER TABLE app.challenge_pages ADD COLUMN submission_deadline bigint;
