-- Tags of challenge pages: words by which bounties are found and followed. A page of the release before has none.

ALTER TABLE app.challenge_summaries ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
CREATE INDEX challenge_summaries_tags ON app.challenge_summaries USING gin (tags);
