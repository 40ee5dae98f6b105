-- Of which index a VerificationRecord was derived: one that its facts contradict is dropped after the next rebuild.

ALTER TABLE hub_index.head ADD COLUMN rebuilds integer NOT NULL DEFAULT 0;
ALTER TABLE hub_index_scratch.head ADD COLUMN rebuilds integer NOT NULL DEFAULT 0;
ALTER TABLE app.verification_records ADD COLUMN rebuilds integer NOT NULL DEFAULT 0;
