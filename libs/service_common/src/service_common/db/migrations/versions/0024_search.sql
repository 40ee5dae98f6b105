-- Search within words: a page's title and summary as they are compared, and hashes of all runs of letters in them. Null in
-- rows of the release before, which are found by whole words until they are filled.

ALTER TABLE app.challenge_summaries ADD COLUMN folded text, ADD COLUMN grams integer[];
CREATE INDEX challenge_summaries_grams ON app.challenge_summaries USING gin (grams);
