// What is refused beside the vectors: before anything is sealed, while it is opened, and when somebody answers wrongly.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import * as client from "bounty-escrow-client";
import { privateKeyToAccount } from "viem/accounts";
import { failureOf, load } from "./shared.mjs";

const capsules = load("key_capsule");
const { chain_hash, public_key, genesis_time, period_seconds, round, signature } = capsules.beacon;
const beacon = {
  chainHash: chain_hash,
  publicKey: public_key,
  genesisTime: genesis_time,
  periodSeconds: period_seconds,
};
const envelope = client.parseEnvelope(load("envelope").accepted[0].envelope);
const bounty = {
  chainId: envelope.chain_id,
  hubAddress: envelope.hub_address,
  bountyId: envelope.bounty_id,
  specCommitment: envelope.spec_commitment,
  guardianRosterHash: envelope.guardian_roster_hash,
  encryptionKeys: capsules.guardian_public_keys,
  revealAt: envelope.reveal_policy.reveal_at,
};
const solverAddress = envelope.solver_address;
const text = (path, content = "text") => ({ path, content: new TextEncoder().encode(content) });

/** The failure with which files are refused; the sink must have been aborted. */
async function refusedToSeal(entries, limits = undefined) {
  let aborted = false;
  const sink = new WritableStream({ abort: () => void (aborted = true) });
  const sealFor = { bounty, solverAddress, beacon, ...(limits && { limits }) };
  const failure = await failureOf(() => client.sealSubmission(entries, sealFor, sink));
  assert.equal(aborted, failure !== "accepted");
  return failure;
}

/** Calls with the address of a server that answers every request so, and no longer than that. */
async function served(answer, call) {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await call(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("sealing: names, sizes and nothing at all", async () => {
  assert.equal(await refusedToSeal([text("a"), text("b/c")]), "accepted");
  assert.equal(await refusedToSeal([text("a"), { path: "empty", directory: true }]), "accepted");
  for (const path of [
    "",
    "/a",
    "a/",
    "a//b",
    "../a",
    "a/./b",
    "a\\b",
    "a\nb",
    "\ud800",
    "a".repeat(256),
    "a/".repeat(32) + "a",
  ]) {
    assert.equal(await refusedToSeal([text(path)]), "archive_refused", JSON.stringify(path));
  }
  assert.equal(await refusedToSeal([]), "archive_refused");
  assert.equal(await refusedToSeal([{ path: "only", directory: true }]), "archive_refused");
  for (const [one, other] of [
    ["a", "a"],
    ["a", "A"],
    ["a", "a/b"],
    ["a/b", "a"],
    ["A/x", "a/y"],
  ]) {
    assert.equal(await refusedToSeal([text(one), text(other)]), "archive_refused", `${one} and ${other}`);
  }
  assert.equal(await refusedToSeal([text("a/b")], { maxEntries: 2, maxBytes: 4 }), "accepted");
  assert.equal(await refusedToSeal([text("a/b")], { maxEntries: 1, maxBytes: 4 }), "archive_refused");
  assert.equal(await refusedToSeal([text("a/b")], { maxEntries: 2, maxBytes: 3 }), "archive_refused");
});

test("sealing: a file that changes while it is read", async () => {
  for (const size of [3, 5]) {
    const content = { size, stream: () => new Blob(["text"]).stream() };
    assert.equal(await refusedToSeal([{ path: "a", content }]), "archive_refused");
  }
});

test("sealing: keys to which nothing may be sealed", async () => {
  const zero = `0x${"00".repeat(32)}`;
  const sink = new WritableStream();
  const sealFor = { bounty: { ...bounty, encryptionKeys: [zero] }, solverAddress, beacon };
  assert.equal(await failureOf(() => client.sealSubmission([text("a")], sealFor, sink)), "key_invalid");
});

test("opening: with a signature that is not the round's", async () => {
  const keys = { beacon, keyring: [capsules.guardians[0]], rosterSize: 3 };
  const sealed = {
    ...envelope,
    content_public_key: capsules.content_public_key,
    key_capsule: capsules.capsule,
    reveal_policy: { ...envelope.reveal_policy, round },
  };
  assert.equal(await client.openContentKey(sealed, { ...keys, signature }), capsules.content_identity);
  const [other] = load("reveal").signatures;
  for (const forged of [other.signature, signature.slice(2), "", "c0".padEnd(96, "0")]) {
    const opening = () => client.openContentKey(sealed, { ...keys, signature: forged });
    assert.equal(await failureOf(opening), "beacon_invalid", forged);
  }
});

test("opening: a storage that fails shows nothing about the bytes", async () => {
  const { artifact, identity, content_public_key, byte_length, sha256 } = load("age_artifact");
  const committed = { ...envelope, content_public_key, ciphertext: { sha256, byte_length } };
  const half = Buffer.from(artifact, "base64").subarray(0, byte_length / 2);
  for (const [begins, status, code] of [
    [false, 403, "storage_refused"],
    [false, 503, "storage_unreachable"],
    [true, 403, "storage_refused"],
  ]) {
    let asked = 0;
    const answer = (_request, response) => {
      asked += 1;
      if (!begins || asked > 1) return void response.writeHead(status).end();
      response.writeHead(200, { "Content-Length": byte_length });
      response.write(half, () => response.destroy());
    };
    const opening = (url) =>
      client.openArtifact(client.downloadCiphertext(url, committed), identity, committed, () => {});
    assert.equal(await failureOf(() => served(answer, opening)), code, `${begins} ${status}`);
  }
});

test("opening: a download without an end is left", async () => {
  const { artifact, identity, content_public_key, byte_length, sha256 } = load("age_artifact");
  const whole = new Uint8Array(Buffer.from(artifact, "base64"));
  let [given, cancelled] = [0, false];
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(given++ === 0 ? whole : new Uint8Array(1024)),
    cancel: () => void (cancelled = true),
  });
  const committed = { ...envelope, content_public_key, ciphertext: { sha256, byte_length } };
  assert.equal(
    await failureOf(() => client.openArtifact(endless, identity, committed, () => {})),
    "ciphertext_mismatch",
  );
  assert.ok(cancelled && given < 10);
});

test("keys: a wrong one is never repeated", async () => {
  const wrong = `${capsules.content_identity.slice(0, -1)}Q`;
  for (const call of [
    () => client.publicKeyOf(wrong),
    () => client.unwrapContentKey("AAAA", wrong, bounty.specCommitment),
  ]) {
    await assert.rejects(
      call,
      (error) => !`${error.message}${error.stack}${JSON.stringify(error)}`.includes(wrong.slice(20)),
    );
  }
});

test("envelope: every difference from the bounty, by its field", () => {
  const differing = (...changed) =>
    client.envelopeDifferences({ ...envelope, ...changed[0] }, { ...bounty, ...changed[1] }, solverAddress, beacon);
  assert.deepEqual(differing({}, {}), []);
  const other = `0x${"11".repeat(32)}`;
  const paths = {
    chain_id: 1,
    hub_address: other.slice(0, 42),
    bounty_id: "8",
    solver_address: other.slice(0, 42),
    spec_commitment: other,
    guardian_roster_hash: other,
    recipients_commitment: other,
  };
  for (const [path, value] of Object.entries(paths)) {
    assert.deepEqual(
      differing({ [path]: value }, {}).map((issue) => issue.path),
      [path],
    );
  }
  const policies = { beacon_chain_hash: other, round: 1, reveal_at: 1 };
  for (const [name, value] of Object.entries(policies)) {
    const reveal_policy = { ...envelope.reveal_policy, [name]: value };
    assert.deepEqual(
      differing({ reveal_policy }, {}).map((issue) => issue.path),
      [`reveal_policy.${name}`],
    );
  }
});

test("beacon relays: forged, silent and honest ones", async () => {
  const answering = (body) => (_, response) => response.end(JSON.stringify(body));
  const fetched = (relays) => client.fetchBeacon(round, beacon, relays);
  const nobody = "http://127.0.0.1:9";
  await served(answering({ round, signature }), async (honest) => {
    assert.equal(await fetched([nobody, honest]), signature);
    await served(answering({ round, signature: signature.replace(/^./, "9") }), async (forger) => {
      assert.equal(await fetched([forger, honest]), signature);
      assert.equal(await failureOf(() => fetched([forger, nobody])), "beacon_invalid");
    });
  });
  assert.equal(await failureOf(() => fetched([nobody])), "beacon_unavailable");
  const endless = (_, response) => {
    const write = () => response.write(" ".repeat(65_536), () => response.destroyed || write());
    write();
  };
  assert.equal(await served(endless, (relay) => failureOf(() => fetched([relay]))), "beacon_unavailable");
  const status = (url) => () => client.answerOf(client.createApi(url).GET("/api/status"));
  assert.equal(await served(endless, (url) => failureOf(status(url))), "answer_malformed");
  const page = (_, response) => response.end("<html>");
  assert.equal(await served(page, (url) => failureOf(status(url))), "answer_malformed");
});

test("many Submissions: each item is the one that was asked for, or is refused", async () => {
  const text = load("envelope").accepted[0].envelope;
  const commitment = client.commitmentOf(text);
  const other = `0x${"77".repeat(32)}`;
  const content = { envelope: text, download_url: "https://storage.example/it" };
  const item = (of, more) => ({ submission_commitment: of, content: null, error: null, ...more });
  const error = { code: "submission_not_found", message: "It is not here.", issues: [], next_action: "Look elsewhere." };
  const account = privateKeyToAccount(`0x${"11".repeat(32)}`);
  const block = { number: 7n, hash: other };
  const signing = {
    deployment: { chainId: 8453, hubAddress: `0x${"ab".repeat(20)}` },
    signer: account,
    chain: { getBlock: async () => ({ ...block, timestamp: 0n }) },
  };
  const read = (items, ...of) =>
    served(
      (_, response) => response.end(JSON.stringify({ items })),
      (url) => client.readContents(client.createApi(url, signing), 7n, of),
    );
  const items = [item(commitment, { content }), item(other, { error, retry_after: 5 })];
  const [found, refused] = await read(items, commitment, other);
  assert.deepEqual(found, { commitment, content });
  assert.equal(refused.refusal.code, "submission_not_found");
  assert.equal(refused.refusal.nextAction, "Look elsewhere.");
  assert.equal(refused.refusal.retryAfter, 5);
  const [forged] = await read([item(other, { content })], other); // the envelope of another commitment
  assert.equal(forged.refusal.code, "read_model_mismatch");
  const malformed = [undefined, [], [item(other)], [item(commitment, { error })], [item(other, { error: {} })]];
  for (const items of [...malformed, [item(other, { content: { envelope: 1 } })]])
    assert.equal(await failureOf(() => read(items, other)), "answer_malformed");
});

test("the API of another deployment's Hub, errors included", async () => {
  const deployment = { chainId: 8453, hubAddress: `0x${"aB".repeat(20)}` };
  const asked = (hub, status, body) =>
    served(
      (_, response) => response.writeHead(status, hub === undefined ? {} : { "X-Hub": hub }).end(body),
      (url) => failureOf(() => client.answerOf(client.createApi(url, { deployment }).GET("/api/status"))),
    );
  const ours = `eip155:8453:0x${"ab".repeat(20)}`;
  assert.equal(await asked(ours, 200, "{}"), "accepted");
  assert.equal(await asked(undefined, 200, "{}"), "accepted");
  for (const other of [ours.replace("8453", "84532"), ours.replace("ab", "ac"), "none"])
    for (const status of [200, 404]) assert.equal(await asked(other, status, "{}"), "deployment_mismatch");
});

test("hub: a roster that is not the pinned one", async () => {
  const { members, version, quorum, guardian_roster_hash } = load("abi_hashes").guardian_roster;
  const encryptionKeys = members.map((member) => member.encryption_public_key);
  const roster = { quorum: BigInt(quorum), accounts: members.map((member) => member.guardian_address), encryptionKeys };
  const pinned = { rosterVersion: BigInt(version), guardianRosterHash: guardian_roster_hash, revealAt: 5n };
  const read = (answers) => {
    const chain = { readContract: async ({ functionName }) => answers[functionName] };
    const { chain_id: chainId, hub_address: hubAddress } = load("abi_hashes");
    return client.readBounty(chain, { chainId, hubAddress }, 7n);
  };
  assert.deepEqual((await read({ getBounty: pinned, getRoster: roster })).encryptionKeys, encryptionKeys);
  const forged = { ...roster, encryptionKeys: encryptionKeys.toReversed() };
  assert.equal(await failureOf(() => read({ getBounty: pinned, getRoster: forged })), "guardian_roster_mismatch");
});

test("no way out asks for a secret key", () => {
  const { nextAction } = new client.ServiceError("capsule_not_for_this_key", "It does not open.");
  assert.match(nextAction, /retired encryption keys/);
  assert.doesNotMatch(nextAction, /identity/);
});
