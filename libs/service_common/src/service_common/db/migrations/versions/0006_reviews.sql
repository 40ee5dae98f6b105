-- What repeating a review needs (the page's bytes unless they hold a secret, and the circumstances it was judged in),
-- the paid calls that a deployment's daily cap counts, and whose attempt a charge belongs to.

ALTER TABLE review.reviews
    ADD COLUMN page bytea,
    ADD COLUMN circumstances jsonb;

CREATE TABLE review.paid_calls (
    call_id text NOT NULL,
    review_id text NOT NULL,
    called_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (call_id)
);
CREATE INDEX paid_calls_called_at ON review.paid_calls (called_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON review.paid_calls TO service_reviewer;

ALTER TABLE app.review_charges ADD COLUMN attempt text NOT NULL DEFAULT '';
