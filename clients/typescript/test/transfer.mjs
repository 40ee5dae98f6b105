// Downloads that end early or are of another file, progress, and signals that end what takes long.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { ServiceError, createApi, downloadCiphertext, fetchBeacon, hasCode, QUICKNET } from "../dist/index.js";
import { generateIdentity, openArtifact, publicKeyOf, sealSubmission, uploadCiphertext } from "../dist/index.js";
import { mayPass } from "../dist/transfer.js";
import { privateKeyToAccount } from "viem/accounts";

const FILE = randomBytes(200_000);

/** The waits of the client, each a hundred times as short here, but for those that are to last; how long they were to be. */
const waits = [];
const LONG = new Set([1_000, 4_000, 10_000, 60_000]);
const { setTimeout: waiting } = globalThis;
let isEndless = false;
globalThis.setTimeout = (work, milliseconds, ...given) => {
  if (!LONG.has(milliseconds)) return waiting(work, milliseconds, ...given);
  waits.push(milliseconds);
  return isEndless ? undefined : waiting(work, milliseconds / 100, ...given);
};
const pauses = () => waits.splice(0).filter((each) => each < 60_000);
const committed = (file = FILE, length = file.length) => ({
  ciphertext: { byte_length: length, sha256: `0x${createHash("sha256").update(file).digest("hex")}`, storage_locator: "" },
});

let storage, url, answers, asked;
before(async () => {
  storage = createServer((request, response) => {
    asked.push(request.headers.range);
    (answers.shift() ?? hangUp)(response, Number(/\d+/.exec(request.headers.range ?? "0")[0]));
  });
  await new Promise((resolve) => storage.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${storage.address().port}/`;
});
after(() => {
  storage.closeAllConnections();
  storage.close();
});

const hangUp = (response) => response.destroy();
const status = (code) => (response) => response.writeHead(code).end("no");
/** The whole from the beginning, ended after so many bytes. */
const whole = (upTo = FILE.length, file = FILE) => (response) => {
  response.writeHead(200, { "Content-Length": file.length });
  response.write(file.subarray(0, upTo), () => (upTo < file.length ? response.destroy() : response.end()));
};
/** The rest of what was asked for, ended at so many bytes. */
const rest = (upTo = FILE.length, stated) => (response, start) => {
  const range = stated ?? `bytes ${start}-${FILE.length - 1}/${FILE.length}`;
  response.writeHead(206, { "Content-Range": range, "Content-Length": FILE.length - start });
  response.write(FILE.subarray(start, upTo), () => (upTo < FILE.length ? response.destroy() : response.end()));
};

async function downloaded(given, envelope = committed(), options = {}) {
  [answers, asked] = [given, []];
  return Buffer.from(await new Response(downloadCiphertext(url, envelope, options)).arrayBuffer());
}

async function codeOf(work) {
  try {
    await work();
  } catch (error) {
    return error instanceof ServiceError ? error.code : error.name;
  }
  return undefined;
}

test("a download asks for nothing before it is read, and is cancelled where the identity is another one", async () => {
  [answers, asked] = [[whole()], []];
  let isCancelled = false;
  const download = downloadCiphertext(url, committed());
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(asked, []);
  const ciphertext = new ReadableStream({ cancel: () => void (isCancelled = true) });
  const envelope = { ...committed(), content_public_key: await publicKeyOf(await generateIdentity()) };
  await assert.rejects(openArtifact(ciphertext, await generateIdentity(), envelope, () => {}), ServiceError);
  assert.equal(isCancelled, true);
  await download.cancel();
});

test("a download that ends early is continued by Range", async () => {
  const found = await downloaded([whole(70_000), hangUp, rest(150_000), rest()]);
  assert.deepEqual(found, FILE);
  assert.deepEqual(
    asked.map((range) => range !== undefined),
    [false, true, true, true],
  );
});

test("a rest of which a page is not shown where it begins is held against the whole", async () => {
  const hidden = (file) => (response, start) => response.writeHead(206).end(file.subarray(start));
  assert.deepEqual(await downloaded([whole(70_000), hidden(FILE)]), FILE);
  const shifted = FILE.subarray(1);
  assert.equal(await codeOf(() => downloaded([whole(9), hidden(shifted), whole()])), "ciphertext_mismatch");
});

test("a storage that begins again is read past what is there", async () => {
  assert.deepEqual(await downloaded([whole(70_000), whole()]), FILE);
});

test("four attempts without a byte are the last, after longer and longer pauses", async () => {
  pauses();
  assert.equal(await codeOf(() => downloaded([])), "storage_unreachable");
  assert.deepEqual([asked.length, pauses()], [4, [1_000, 4_000, 10_000]]);
  const given = [whole(9), status(503), hangUp, rest(20), status(500), status(429), status(520)];
  assert.equal(await codeOf(() => downloaded(given)), "storage_unreachable");
  assert.deepEqual(pauses(), [1_000, 4_000, 1_000, 4_000, 10_000]);
});

test("a pause ends at once with the signal's reason", async () => {
  const controller = new AbortController();
  const ending = (response) => {
    response.destroy();
    waiting(() => controller.abort(new Error("enough")), 20);
  };
  isEndless = true;
  await assert.rejects(downloaded([ending, whole()], committed(), { signal: controller.signal }), /enough/);
  isEndless = false;
  assert.equal(asked.length, 1);
});

test("a storage that sends nothing for a minute has ended its answer", async () => {
  const silent = (response) => void response.writeHead(200).write(FILE.subarray(0, 70_000));
  assert.deepEqual(await downloaded([silent, () => {}, rest()]), FILE);
  assert.equal(asked.length, 3);
});

test("a slow reader has a storage's answer all the same", async () => {
  [answers, asked] = [[whole()], []];
  const reader = downloadCiphertext(url, committed()).getReader();
  await reader.read();
  await new Promise((resolve) => waiting(resolve, 800));
  let size = 0;
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) size += value.length;
  assert.deepEqual([size > 0, asked.length], [true, 1]);
});

test("a browser without AbortSignal.any reaches the service and the beacon, and ends both by a signal", async (t) => {
  t.mock.method(AbortSignal, "any", () => assert.fail("is missing"));
  [answers, asked] = [[(response) => response.writeHead(200, { "Content-Type": "application/json" }).end("{}")], []];
  assert.deepEqual((await createApi(url).GET("/api/status")).data, {});
  for (const ask of [
    (signal) => createApi(url).GET("/api/status", { signal }),
    (signal) => fetchBeacon(1, QUICKNET, [url], { signal }),
  ]) {
    const controller = new AbortController();
    [answers, asked] = [[() => controller.abort(new Error("enough"))], []];
    await assert.rejects(ask(controller.signal), /enough/);
  }
});

test("what the storage refuses is not asked again", async () => {
  assert.equal(await codeOf(() => downloaded([status(403)])), "storage_refused");
  assert.equal(asked.length, 1);
});

test("other bytes are never the committed ones", async () => {
  const other = Buffer.from(FILE);
  other[199_999] ^= 1;
  assert.equal(await codeOf(() => downloaded([whole(FILE.length, other)])), "ciphertext_mismatch");
  assert.equal(await codeOf(() => downloaded([whole(9), whole(FILE.length, other)])), "ciphertext_mismatch");
  assert.equal(await codeOf(() => downloaded([whole()], committed(FILE, 199_999))), "ciphertext_mismatch");
  assert.equal(await codeOf(() => downloaded([whole(9), rest(9, "bytes 9-10/11")])), "ciphertext_mismatch");
  assert.equal(await codeOf(() => downloaded([whole(9), status(416)])), "ciphertext_mismatch");
});

test("progress grows to the whole, and a signal ends a download with its reason", async () => {
  const seen = [];
  await downloaded([whole(70_000), rest()], committed(), { onProgress: ({ done, total }) => seen.push([done, total]) });
  assert.deepEqual(seen.at(-1), [FILE.length, FILE.length]);
  assert.deepEqual(
    seen.map(([done]) => done),
    seen.map(([done]) => done).sort((one, other) => one - other),
  );
  const controller = new AbortController();
  const options = { signal: controller.signal, onProgress: () => controller.abort(new Error("enough")) };
  await assert.rejects(downloaded([whole()], committed(), options), /enough/);
});

const bounty = {
  chainId: 1,
  hubAddress: `0x${"aa".repeat(20)}`,
  bountyId: "7",
  specCommitment: `0x${"22".repeat(32)}`,
  guardianRosterHash: `0x${"11".repeat(32)}`,
  revealAt: QUICKNET.genesisTime,
};

test("sealing reports its bytes, and a signal ends it and aborts the sink", async () => {
  const encryptionKeys = [await publicKeyOf(await generateIdentity())];
  const sealFor = { bounty: { ...bounty, encryptionKeys }, solverAddress: `0x${"bb".repeat(20)}`, beacon: QUICKNET };
  const files = [{ path: "a", content: new Blob([FILE]) }];
  const seen = [];
  await sealSubmission(files, sealFor, new WritableStream(), { onProgress: ({ done }) => seen.push(done) });
  assert.ok(seen.at(-1) > FILE.length && seen.length > 1);
  const controller = new AbortController();
  let aborted;
  const sink = new WritableStream({ abort: (reason) => void (aborted = reason) });
  const options = { signal: controller.signal, onProgress: () => controller.abort(new Error("enough")) };
  await assert.rejects(sealSubmission(files, sealFor, sink, options), /enough/);
  assert.equal(aborted?.message, "enough");
});

/** What an API answers to these, one after the other, and the requests that it was asked. */
async function asking(given, ask) {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url, signature: request.headers.authorization });
    const answer = request.url === "/api/status" && seen.length > 1 ? 200 : given.shift();
    if (answer === "cut") return void response.writeHead(200, { "Content-Length": 9 }).write("{", () => response.destroy());
    response.writeHead(answer === "empty" ? 200 : answer, { "Content-Type": "application/json" });
    response.end(answer === 200 ? "{}" : "");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const code = await codeOf(() => ask(`http://127.0.0.1:${server.address().port}`));
    return { code, paths: seen.map(({ path }) => path), signatures: seen.flatMap(({ signature }) => signature ?? []) };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const account = privateKeyToAccount(`0x${"11".repeat(32)}`);
const hash = `0x${"22".repeat(32)}`;
const chain = { getBlock: async ({ blockNumber: number = 99n } = {}) => ({ number, timestamp: number, hash }) };
const signing = { deployment: { chainId: 1, hubAddress: bounty.hubAddress }, signer: account, chain };
const read = (at) => createApi(at).GET("/api/bounties/{bounty_id}", { params: { path: { bounty_id: "7" } } });
const delivery = (at, more = {}) =>
  createApi(at, { ...signing, ...more }).POST("/api/bounties/{bounty_id}/delivery/wrap", {
    params: { path: { bounty_id: "7" } },
    body: { solver_address: "", submission_commitment: "", wrapped_key: "" },
  });
const publication = (at) =>
  createApi(at, signing).POST("/api/bounty-challenge-specs/prepare-publication", {
    params: { query: { poster_address: account.address } },
    body: "page",
  });

const PASSING = [408, 429, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 528, 529, 530];

test("statuses that may pass are those, and no others", () => {
  const found = Array.from({ length: 500 }, (_, at) => 100 + at).filter(mayPass);
  assert.deepEqual(found, PASSING);
});

test("a read is repeated over what may pass, four times in all", async () => {
  for (const hiccup of [...PASSING, "cut", "empty"]) {
    const { code, paths } = await asking([hiccup, 200], read);
    assert.deepEqual([code, paths.length], [undefined, 2], String(hiccup));
  }
  for (const final of [400, 404, 500, 501, 302]) {
    assert.equal((await asking([final, 200], read)).paths.length, 1, String(final));
  }
  pauses();
  const { code, paths } = await asking(Array(9).fill(502), read);
  assert.deepEqual([code, paths.length, pauses()], ["api_unreachable", 4, [1_000, 4_000, 10_000]]);
});

test("a signed request is signed anew for each of three attempts, once the API answers", async () => {
  const status = "/api/status";
  const wrap = "/api/bounties/7/delivery/wrap";
  for (const hiccup of [502, "cut", "empty"]) {
    const { code, paths, signatures } = await asking([hiccup, 200], delivery);
    assert.deepEqual([code, paths, new Set(signatures).size], [undefined, [wrap, status, wrap], 2], String(hiccup));
  }
  const { code, signatures } = await asking(Array(9).fill(502), delivery);
  assert.deepEqual([code, signatures.length, new Set(signatures).size], ["api_unreachable", 3, 3]);
});

test("what a person is asked for, or what may be charged, is not repeated", async () => {
  for (const ask of [(at) => delivery(at, { asksFirst: true }), publication]) {
    assert.equal((await asking([502, 200], ask)).signatures.length, 1);
  }
});

/** Takes uploads by these answers; what arrived of each, and how long it was said to be. */
async function uploading(given, options = {}, file = FILE) {
  const arrived = [];
  const server = createServer(async (request, response) => {
    const answer = given.shift();
    const pieces = [];
    arrived.push({ length: request.headers["content-length"], pieces });
    if (answer === "breaks") return void request.once("data", () => request.destroy());
    for await (const piece of request) pieces.push(piece);
    response.writeHead(answer).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const target = {
    upload_url: `http://127.0.0.1:${server.address().port}/`,
    upload_method: "PUT",
    upload_headers: { "x-goog-if-generation-match": "0" },
  };
  try {
    const code = await codeOf(() => uploadCiphertext(target, new Blob([file]), options));
    return { code, arrived: arrived.map(({ length, pieces }) => [length, Buffer.concat(pieces)]) };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

for (const [name, options] of [
  ["", {}],
  [" and is reported", { onProgress: () => {} }],
]) {
  test(`an upload that breaks off is sent again${name}`, async () => {
    pauses();
    const { code, arrived } = await uploading(["breaks", "breaks", "breaks", 200], options);
    assert.deepEqual([code, pauses()], [undefined, [1_000, 4_000, 10_000]]);
    assert.deepEqual(arrived.at(-1), [String(FILE.length), FILE]);
    assert.equal((await uploading([502, 500, 429, 200], options)).code, undefined);
    assert.equal((await uploading(["breaks", "breaks", "breaks", "breaks"], options)).code, "storage_unreachable");
  });

  test(`a storage that has the object is reached after a broken attempt, and not before${name}`, async () => {
    for (const hiccup of ["breaks", 502]) assert.equal((await uploading([hiccup, 412], options)).code, undefined);
    assert.equal((await uploading([412], options)).code, "storage_refused");
    const refused = await uploading([403, 200], options);
    assert.deepEqual([refused.code, refused.arrived.length], ["storage_refused", 1]);
  });
}

test("an upload reports its bytes, and a signal ends it with its reason", async () => {
  const seen = [];
  const file = randomBytes(5_000_000);
  const onProgress = ({ done, total }) => seen.push([done, total]);
  await uploading([200], { onProgress }, file);
  assert.deepEqual(seen.at(-1), [file.length, file.length]);
  assert.ok(seen.length > 2);
  const controller = new AbortController();
  const ending = { signal: controller.signal, onProgress: () => controller.abort(new DOMException("enough", "Ended")) };
  const { code, arrived } = await uploading([200, 200], ending, file);
  assert.ok(code === "Ended" && arrived.length <= 1);
});

test("what is ended before it begins asks nobody", async () => {
  [answers, asked] = [[], []];
  const signal = AbortSignal.abort(new Error("enough"));
  const target = { upload_url: url, upload_method: "PUT", upload_headers: {} };
  await assert.rejects(uploadCiphertext(target, new Blob(["a"]), { signal }), /enough/);
  await assert.rejects(fetchBeacon(1, QUICKNET, [url, url], { signal }), /enough/);
  await assert.rejects(createApi(url).GET("/api/status", { signal }), /enough/);
  await assert.rejects(openArtifact(new Blob([FILE]).stream(), await generateIdentity(), committed(), () => {}, { signal }));
  assert.equal(asked.length, 0);
});

test("an error has its cause, and is narrowed by its code", async () => {
  [answers, asked] = [[], []];
  const error = await createApi(url)
    .GET("/api/status")
    .catch((found) => found);
  assert.ok(hasCode(error, "bounty_not_found", "api_unreachable") && error.cause instanceof TypeError);
  assert.ok(!hasCode(error, "bounty_not_found") && !hasCode(new Error("a"), "api_unreachable"));
});
