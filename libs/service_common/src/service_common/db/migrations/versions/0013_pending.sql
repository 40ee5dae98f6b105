-- The length of what is kept although nobody has paid for it yet: an envelope that the Hub does not record, a page that
-- nobody funded. Null once it is paid for, and in rows of the release before.

ALTER TABLE app.submission_envelopes ADD COLUMN pending_bytes integer;
ALTER TABLE app.challenge_pages ADD COLUMN pending_bytes integer;
CREATE INDEX submission_envelopes_pending ON app.submission_envelopes (pending_bytes) WHERE pending_bytes IS NOT NULL;
CREATE INDEX challenge_pages_pending ON app.challenge_pages (pending_bytes) WHERE pending_bytes IS NOT NULL;
