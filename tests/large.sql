-- An index of :bounties bounties, an hour apart. Each has four events in a block of its own: created, submitted (twice),
-- judged (by three Guardians) and, but for one of a hundred, decided. Each has a page.

CREATE FUNCTION pg_temp.hash(n bigint) RETURNS text IMMUTABLE RETURN '0x' || lpad(to_hex(n), 64, '0');
CREATE FUNCTION pg_temp.account(n bigint) RETURNS text IMMUTABLE RETURN '0x' || lpad(to_hex(n), 40, '0');
CREATE FUNCTION pg_temp.guardian(n bigint) RETURNS text IMMUTABLE RETURN '0x' || repeat(to_hex(161 + n % 5), 20);

CREATE TEMPORARY TABLE many AS
    SELECT n, n * 4 AS block, pg_temp.hash(n * 4) AS hash, 1700000000 + n * 3600 AS time, pg_temp.account(n % 700 + 1) AS winner
    FROM generate_series(1, :bounties::bigint) AS n;

INSERT INTO hub_index.head
    (chain_id, hub_address, block_number, block_hash, block_time, finalized_number, finalized_hash, finalized_time,
     tip_number)
    SELECT :chain_id, ':hub', max(block) + 4, pg_temp.hash(0), max(time) + 600, max(block) + 4, pg_temp.hash(0),
        max(time) + 600, max(block) + 4 FROM many;
INSERT INTO hub_index.rosters
    (version, guardian_roster_hash, quorum, block_number, block_hash, log_index, tx_hash, time, effective_from)
    VALUES (1, pg_temp.hash(1), 2, 1, pg_temp.hash(1), 0, pg_temp.hash(1), 1, 1);
INSERT INTO hub_index.roster_members
    (version, position, guardian, encryption_public_key, block_number, block_hash, log_index, tx_hash, time)
    SELECT 1, p, pg_temp.guardian(p), pg_temp.hash(p), 1, pg_temp.hash(1), 0, pg_temp.hash(1), 1 FROM generate_series(0, 4) AS p;
INSERT INTO hub_index.bounties
    (bounty_id, poster, spec_commitment, guardian_roster_hash, roster_version, escrow_amount, protocol_fee, guardian_fee,
     submission_deadline, reveal_at, judging_deadline, protocol_fee_recipient, authorization_nonce,
     block_number, block_hash, log_index, tx_hash, time)
    SELECT n, pg_temp.account(n % 500 + 1), pg_temp.hash(n), pg_temp.hash(1), 1, (n % 1000 + 1) * 1000000, 10000, 20000,
        time + 3600, time + 3700, time + 90000, pg_temp.account(9), pg_temp.hash(n), block, hash, 0, hash, time FROM many;
INSERT INTO hub_index.submissions
    (bounty_id, solver, submission_commitment, block_number, block_hash, log_index, tx_hash, time)
    SELECT n, pg_temp.account((n + k) % 700 + 1), pg_temp.hash(n * 2 + k), block + 1, hash, k, hash, time + 60
    FROM many, generate_series(0, 1) AS k;
INSERT INTO hub_index.verdicts
    (bounty_id, guardian, kind, solver, submission_commitment, report_commitment,
     block_number, block_hash, log_index, tx_hash, time)
    SELECT n, pg_temp.guardian(n + k), 1, winner, pg_temp.hash(n * 2), pg_temp.hash(n * 3 + k), block + 2, hash, k, hash, time + 120
    FROM many, generate_series(0, 2) AS k;
INSERT INTO hub_index.finalizations
    (bounty_id, outcome, reason, winner, submission_commitment, award, refund, protocol_fee, guardian_fee_each,
     guardian_fee_count, block_number, block_hash, log_index, tx_hash, time)
    SELECT n, 1, 1, winner, pg_temp.hash(n * 2), (n % 1000 + 1) * 1000000 - 30000, 0, 10000, 10000, 2,
        block + 3, hash, 0, hash, time + 180 FROM many WHERE n % 100 <> 0;
INSERT INTO hub_index.claims (bounty_id, kind, recipient, amount, block_number, block_hash, log_index, tx_hash, time)
    SELECT n, 'winner_award', winner, 1000000, block + 3, hash, 1, hash, time + 200 FROM many WHERE n % 100 <> 0;
INSERT INTO hub_index.heartbeats (guardian, block_number, block_hash, log_index, tx_hash, time)
    SELECT pg_temp.guardian(n), block + 1, hash, 9, hash, time + 60 FROM many;
INSERT INTO hub_index.logs (bounty_id, topics, data, block_number, block_hash, log_index, tx_hash, time)
    SELECT n, ARRAY[':heartbeat', pg_temp.hash(n)], '', block + k, hash, 0, hash, time + k * 60
    FROM many, generate_series(0, 3) AS k;
INSERT INTO hub_index.logs (bounty_id, topics, data, block_number, block_hash, log_index, tx_hash, time)
    SELECT NULL, ARRAY[':heartbeat', pg_temp.hash(n)], '', block + 1, hash, 9, hash, time + 60 FROM many;
INSERT INTO hub_index.changes (block_number, log_index)
    SELECT block_number, log_index FROM hub_index.logs ORDER BY block_number, log_index;
INSERT INTO hub_index.totals
    (bounties, awarded, unawarded, escrowed, awards_paid, refunds_paid, guardian_fees_paid, protocol_fees_paid,
     block_number, block_hash, log_index, tx_hash, time)
    SELECT n, n, 0, n, n, 0, 0, 0, block + 3, hash, 0, hash, time + 180 FROM many;
INSERT INTO app.challenge_pages (spec_commitment, content, submission_deadline)
    SELECT pg_temp.hash(n), decode(repeat('61', 400), 'hex'), 1 FROM many;
INSERT INTO app.challenge_summaries (spec_commitment, title, summary, folded, grams)
    SELECT pg_temp.hash(n), 'A bounty for number ' || n, 'What is asked of word' || lpad((n % 977)::text, 3, '0') || ' here', '', '{}' FROM many;
INSERT INTO app.submission_envelopes (bounty_id, solver, submission_commitment, content, storage_locator)
    SELECT bounty_id, solver, submission_commitment, '', 'a/' || bounty_id || solver FROM hub_index.submissions;
INSERT INTO app.written_verdicts (report_commitment, content, bounty_id, guardian)
    SELECT report_commitment, '', bounty_id, guardian FROM hub_index.verdicts;
INSERT INTO app.verification_records (bounty_id, content, block_hash)
    SELECT bounty_id, '{}', block_hash FROM hub_index.finalizations;
