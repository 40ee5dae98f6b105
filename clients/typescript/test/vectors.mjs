// The published vectors against the built package, as another implementation reads them: in Node and in a browser.
import { base64, hex } from "@scure/base";
import * as client from "bounty-escrow-client";
import { assert } from "chai";
import { hashTypedData } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { toIdentity } from "../dist/age.js";
import { arrange, tarOf, unpack } from "../dist/archive.js";
import { chunksOf } from "../dist/bytes.js";
import { inertPath } from "../dist/inert.js";
import { openCapsule, readCapsule } from "../dist/capsule.js";
import { canonicalJson, parseCanonicalJson } from "../dist/canonical.js";
import { plaintextOf } from "../dist/open.js";
import { fastest } from "../dist/fastest.js";
import { failureOf, load } from "./shared.mjs";

/** Each file's cases; run by vectors-in-node.mjs and by page.mjs. */
export const cases = [];
const test = (name, run) => cases.push({ name, run });

const bytes = (text) => base64.decode(text);
const stream = (data) => new Blob([data]).stream();
const sha256 = async (data) => `0x${hex.encode(new Uint8Array(await crypto.subtle.digest("SHA-256", data)))}`;

const parsedBinding = (text) => {
  const [, chainId, hubAddress, bountyId, solverAddress] = text.match(/=(\S+) .*=(\S+) .*=(\S+) .*=(\S+)/);
  return { chainId: Number(chainId), hubAddress, bountyId, solverAddress };
};

async function collect(chunks) {
  const parts = [];
  for await (const chunk of chunks) parts.push(chunk.slice());
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

test("request_approval: typed data, signature and header are those of the vectors", async () => {
  const vectors = load("request_approval");
  const signer = privateKeyToAccount(vectors.private_key);
  const deployment = { chainId: vectors.chain_id, hubAddress: vectors.hub_address };
  for (const { request, typed_data, authorization } of vectors.accepted) {
    const url = `https://${request.audience}${request.path}?${request.raw_query}`;
    const { blockNumber, blockHash } = typed_data.message;
    const block = { number: BigInt(blockNumber), hash: blockHash };
    const body = bytes(request.body);
    const chain = {
      getBlock: async (at) =>
        at === undefined
          ? { number: block.number + 30n, hash: `0x${"00".repeat(32)}`, timestamp: 6n }
          : { number: at.blockNumber, hash: blockHash, timestamp: 0n },
    };
    const made = client.approvalTypedData({ method: request.method, url, body }, deployment, block);
    assert.deepEqual({ ...made.message, blockNumber }, typed_data.message);
    const signed = await client.signRequest({ method: request.method, url, body }, { deployment, signer, chain });
    assert.strictEqual(signed, authorization);
  }
});

test("canonical_query: accepted and refused", async () => {
  const { accepted, rejected } = load("canonical_query");
  for (const { raw, canonical } of accepted) assert.strictEqual(client.canonicalQuery(raw), canonical, raw);
  for (const { raw } of rejected) assert.strictEqual(await failureOf(() => client.canonicalQuery(raw)), "invalid_request");
});

test("commitments: of texts, documents and logs", () => {
  const { commitments, log_digest } = load("commitments");
  for (const { text, commitment } of commitments) assert.strictEqual(client.commitmentOf(text), commitment);
  for (const { logs, log_digest: digest } of log_digest) assert.strictEqual(client.logDigest(logs), digest);
  const { challenge_pages, written_verdicts } = load("documents");
  for (const { document, commitment } of [...challenge_pages.accepted, ...written_verdicts.accepted]) {
    assert.strictEqual(client.commitmentOf(bytes(document)), commitment);
  }
});

test("abi_hashes: roster, recipients, nonce and salt", () => {
  const hashes = load("abi_hashes");
  const { chain_id, hub_address, guardian_roster, recipients_commitment, authorization, funding_salt } = hashes;
  const { members, version, quorum, guardian_roster_hash } = guardian_roster;
  const encryptionKeys = members.map((member) => member.encryption_public_key);
  const accounts = members.map((member) => member.guardian_address);
  const roster = { version: BigInt(version), accounts, encryptionKeys, quorum: BigInt(quorum) };
  assert.strictEqual(client.guardianRosterHash(chain_id, hub_address, roster), guardian_roster_hash);
  assert.strictEqual(client.recipientsCommitment(guardian_roster_hash, encryptionKeys), recipients_commitment);
  const [specCommitment, expectedRosterHash, ...rest] = authorization.terms;
  const [escrowAmount, submissionDeadline, judgingWindow, maxProtocolFee, maxGuardianFee] = rest.map(BigInt);
  const amounts = { escrowAmount, submissionDeadline, judgingWindow, maxProtocolFee, maxGuardianFee };
  const terms = { specCommitment, expectedRosterHash, ...amounts, salt: rest[5] };
  assert.strictEqual(
    client.authorizationNonce(chain_id, hub_address, authorization.poster_address, terms),
    authorization.nonce,
  );
  for (const { number, salt } of funding_salt.salts) {
    const { poster_address, spec_commitment } = funding_salt;
    assert.strictEqual(
      client.fundingSalt(chain_id, hub_address, poster_address, spec_commitment, BigInt(number)),
      salt,
    );
  }
});

test("reveal: rounds and signatures", () => {
  const { rounds, signatures, quicknet } = load("reveal");
  assert.strictEqual(client.QUICKNET.publicKey, quicknet.public_key);
  assert.strictEqual(client.QUICKNET.chainHash, `0x${quicknet.hash}`);
  for (const { reveal_at, round } of rounds) assert.strictEqual(client.roundAt(reveal_at, client.QUICKNET), round);
  for (const { round, signature, valid } of signatures) {
    assert.strictEqual(client.verifyBeacon(round, signature, client.QUICKNET), valid);
  }
});

test("canonical_json: accepted and refused", async () => {
  const { accepted, rejected } = load("canonical_json");
  for (const text of accepted) assert.strictEqual(canonicalJson(parseCanonicalJson(text, 1000)), text);
  for (const { text, reason } of rejected) {
    assert.throws(() => parseCanonicalJson(text, 1000), Error, undefined, `${reason} is accepted`);
  }
});

test("envelope: accepted and refused, for the paths it states", () => {
  const { accepted, rejected } = load("envelope");
  for (const { envelope, submission_commitment } of accepted) {
    assert.strictEqual(client.commitmentOf(client.envelopeBytes(client.parseEnvelope(envelope))), submission_commitment);
  }
  for (const { envelope, paths, reason } of rejected) {
    const refusal = assert.throws(() => client.parseEnvelope(envelope), client.ServiceError);
    assert.strictEqual(refusal.code, "invalid_solver_submission");
    assert.deepEqual(
      refusal.issues.map((issue) => issue.path),
      paths,
      reason,
    );
  }
});

test("archive: files give the tar, and the tar the files", async () => {
  const { files, binding, tar, sha256: digest, version_1 } = load("archive");
  const entries = Object.entries(files).map(([path, text]) => ({ path, content: new TextEncoder().encode(text) }));
  for (const [comment, made, wanted] of [
    [binding, tar, digest],
    [undefined, version_1.tar, version_1.sha256],
  ]) {
    const whole = await collect(tarOf(arrange(entries.toReversed()), comment));
    assert.strictEqual(base64.encode(whole), made);
    assert.strictEqual(await sha256(whole), wanted);
    const found = {};
    const unpacked = await unpack(chunksOf(stream(whole)), async (entry) => {
      if (!entry.directory) found[entry.path] = new TextDecoder().decode(await collect(entry.content));
    });
    assert.deepEqual(found, files);
    assert.deepEqual(unpacked.binding, comment && parsedBinding(comment));
  }
});

test("archive: refused with its failure", async () => {
  for (const { tar, reason, failure } of load("archive").rejected) {
    assert.strictEqual(await failureOf(() => unpack(chunksOf(stream(bytes(tar))), () => undefined)), failure, reason);
  }
});

test("archive: accepted with its file", async () => {
  for (const { tar, reason } of load("archive").accepted) {
    const found = [];
    await unpack(chunksOf(stream(bytes(tar))), async ({ directory, content }) => {
      if (!directory) found.push(new TextDecoder().decode(await collect(content)));
    });
    assert.deepEqual(found, ["data"], reason);
  }
});

test("archive: a directory is repeated at most as often as a program that made it may", async () => {
  const limits = { maxEntries: 2, maxBytes: 4 };
  const repeated = (count) => [
    ...Array.from({ length: count }, () => ({ path: "a", directory: true })),
    { path: "a/b", content: new Uint8Array(4) },
  ];
  assert.strictEqual((await unpack(tarOf(repeated(7)), () => undefined, limits)).fileCount, 1);
  assert.strictEqual(await failureOf(() => unpack(tarOf(repeated(8)), () => undefined, limits)), "archive_refused");
});

test("archive: each directory is folded once, however many entries are below it", async () => {
  const above = Array(30).fill("\u00e9".repeat(15)).join("/");
  const files = Array.from({ length: 100 }, (_, index) => ({ path: `${above}/${index}`, content: new Uint8Array(4) }));
  const { normalize } = String.prototype;
  let folded = 0;
  String.prototype.normalize = function (form) {
    folded += this.length;
    return normalize.call(this, form);
  };
  try {
    assert.strictEqual((await unpack(tarOf(files), () => undefined)).fileCount, 100);
  } finally {
    String.prototype.normalize = normalize;
  }
  assert.isAtMost(folded, 10 * above.length); // for the names and for the layout, in some forms each
});

test("names: laid out so that no tool obeys them", () => {
  for (const { path, directory, laid_out } of load("names").names) {
    assert.strictEqual(inertPath(path, directory), laid_out, path);
  }
});

/** Opens an artifact as that of an envelope which commits to its bytes. */
async function open(artifact) {
  const { identity, content_public_key } = load("age_artifact");
  const data = bytes(artifact);
  const { chainId, hubAddress, bountyId, solverAddress } = parsedBinding(load("archive").binding);
  const envelope = {
    version: 2,
    content_public_key,
    chain_id: chainId,
    hub_address: hubAddress,
    bounty_id: bountyId,
    solver_address: solverAddress,
    ciphertext: { sha256: await sha256(data), byte_length: data.length },
  };
  return client.openArtifact(stream(data), identity, envelope, () => undefined);
}

test("age_artifact: opens, and none that names nobody", async () => {
  const { artifact, version_1, also_accepted } = load("age_artifact");
  assert.strictEqual((await open(artifact)).fileCount, 4);
  assert.strictEqual(await failureOf(() => open(version_1.artifact)), "binding_missing");
  const { identity } = load("age_artifact");
  for (const { artifact: accepted, plaintext } of also_accepted) {
    const opened = await collect(await plaintextOf(chunksOf(stream(bytes(accepted))), identity));
    assert.strictEqual(base64.encode(opened), plaintext);
  }
});

test("age_artifact: refused with its failure", async () => {
  const { rejected, bound_to_another } = load("age_artifact");
  for (const { artifact, reason, failure } of rejected) {
    assert.strictEqual(await failureOf(() => open(artifact)), failure, reason);
  }
  for (const { artifact, reason, failure } of bound_to_another) {
    assert.strictEqual(await failureOf(() => open(artifact)), failure, reason);
  }
});

const capsules = load("key_capsule");
const { chain_hash, public_key, genesis_time, period_seconds, round, signature } = capsules.beacon;
const beacon = {
  chainHash: chain_hash,
  publicKey: public_key,
  genesisTime: genesis_time,
  periodSeconds: period_seconds,
};
const rosterSize = capsules.guardians.length;
const openAs = (capsule, guardian) =>
  openCapsule(
    bytes(capsule),
    { beacon, round, signature, keyring: [guardian], rosterSize },
    capsules.content_public_key,
    parsedBinding(capsules.binding),
  );

test("key_capsule: each Guardian opens it", async () => {
  assert.deepEqual(await readCapsule(bytes(capsules.capsule)), { round: BigInt(round), chainHash: chain_hash });
  for (const guardian of capsules.guardians) {
    assert.strictEqual(await openAs(capsules.capsule, guardian), capsules.content_identity);
  }
  const unbound = () => openAs(capsules.version_1.capsule, capsules.guardians[0]);
  assert.strictEqual(await failureOf(unbound), "binding_missing");
});

test("key_capsule: refused with its failure", async () => {
  for (const { capsule, reason, failure } of capsules.rejected) {
    assert.strictEqual(await failureOf(() => openAs(capsule, capsules.guardians[1])), failure, reason);
  }
});

test("delivery_wrap: opens, and is refused", async () => {
  const { delivery_private_key, delivery_public_key, wrapped_key, content_identity, content_public_key, rejected } =
    load("delivery_wrap");
  const key = toIdentity(hex.decode(delivery_private_key.slice(2)));
  assert.strictEqual(await client.unwrapContentKey(wrapped_key, key, content_public_key), content_identity);
  const again = client.wrapContentKey(content_identity, delivery_public_key);
  assert.strictEqual(await client.unwrapContentKey(again, key, content_public_key), content_identity);
  for (const { wrapped_key: wrap, reason, failure } of rejected) {
    assert.strictEqual(await failureOf(() => client.unwrapContentKey(wrap, key, content_public_key)), failure, reason);
  }
});

test("witnesses: the same hours, ends and reveal points as the command-line client", async () => {
  const { hours, over, reveal_points, reveal_delays } = load("witnesses");
  for (const { newest, clock, begins } of hours) {
    const asked = () => client.hourBegins(BigInt(newest), BigInt(clock));
    if (begins === null) assert.strictEqual(await failureOf(asked), "time_disagrees", newest);
    else assert.strictEqual(asked(), BigInt(begins), newest);
  }
  assert.strictEqual(client.hourBegins(5n, undefined), 5n);
  for (const { moment, finalized, clock, over: expected } of over) {
    const known = clock === null ? undefined : BigInt(clock);
    assert.strictEqual(client.isOver(BigInt(moment), BigInt(finalized), known), expected, `${finalized} ${clock}`);
  }
  for (const { submission_deadline, reveal_at, delay, now, accepted } of reveal_points) {
    const values = [submission_deadline, reveal_at, delay, now].map(BigInt);
    const found = await failureOf(() => client.requireRevealPoint(...values));
    assert.strictEqual(found, accepted ? "accepted" : "reveal_point_wrong", values);
  }
  for (const { chain_id, delay, recorded } of reveal_delays) {
    const found = await failureOf(() => client.requireRecordedDelay(chain_id, BigInt(delay)));
    assert.strictEqual(found, recorded ? "accepted" : "reveal_point_wrong", `${chain_id} ${delay}`);
  }
  assert.strictEqual(await failureOf(() => client.requireClosed(8n, 7n)), "accepted");
  assert.strictEqual(await failureOf(() => client.requireClosed(7n, 7n)), "reveal_point_wrong");
});

test("primitives: the same with and without WebAssembly", async () => {
  const compiled = await fastest();
  const { WebAssembly } = globalThis;
  globalThis.WebAssembly = undefined;
  const interpreted = await fastest().finally(() => (globalThis.WebAssembly = WebAssembly));
  const [key, nonce] = [new Uint8Array(32).fill(7), new Uint8Array(12).fill(9)];
  for (const size of [0, 1, 63, 64, 65, 65536]) {
    const data = Uint8Array.from({ length: size }, (_, index) => index % 251);
    assert.deepEqual(compiled.encrypt(key, nonce, data), interpreted.encrypt(key, nonce, data));
    for (const { sha256 } of [compiled, interpreted]) sha256.update(data);
  }
  assert.deepEqual(compiled.sha256.digest(), interpreted.sha256.digest());
});
