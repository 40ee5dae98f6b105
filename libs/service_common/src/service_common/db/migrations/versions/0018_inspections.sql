-- The storage's own checksum of bytes that were verified; how far the inspections of what is kept are, and what they found.

ALTER TABLE app.verified_objects ADD COLUMN checksum text;

CREATE TABLE app.inspections (
    name text PRIMARY KEY,
    position text NOT NULL DEFAULT '',
    began_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    day date NOT NULL DEFAULT current_date,
    spent_bytes bigint NOT NULL DEFAULT 0
);
CREATE TABLE app.defects (
    inspection text NOT NULL,
    subject text NOT NULL,
    bounty_id bigint NOT NULL,
    what text NOT NULL,
    found_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (inspection, subject, bounty_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON app.inspections, app.defects TO service_api;
