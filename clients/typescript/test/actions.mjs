// The parts of the wallet actions that need no browser: what they read of strangers' text, and the files they write.
// Prints, as its last line, the written Verdicts that Python compares with its own.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import { buildSync } from "esbuild";
import { decodeFunctionData, encodeErrorResult, encodeEventTopics, encodeFunctionResult, multicall3Abi, parseSignature, serializeCompactSignature, signatureToCompactSignature } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import formats from "../../../tests/pages/formats.json" with { type: "json" };

const generated = ["../src/generated/hub", "../src/generated/refusals", "../src/generated/witnesses"];
const parts = [
  ...["answers", "api", "bounty", "context", "editor", "funding", "journal", "node", "opening", "page", "publish", "refused"],
  ...["sealing", "submissions", "submit", "text", "transactions", "verdict", "wallet", "witnesses"],
  ...["../src/acts", "../src/api", "../src/commitments", "../src/errors", "../src/hub", "../src/secrets", "../src/upload", ...generated],
];
const source = parts.map((name) => `export * from "./${name}.js";`);
const { outputFiles } = buildSync({
  stdin: { contents: source.join("\n"), resolveDir: new URL("../actions", import.meta.url).pathname, loader: "ts" },
  bundle: true,
  format: "esm",
  platform: "node",
  define: { SEALER: '"https://pages.example/sealer.js"' },
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire("file:///");' }, // of tlock-js
  write: false,
});
const { likelySecrets, verdictDocument, printable, amount, moment, ...actions } = await import(
  `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
);

const file = (path, text = "text") => ({ path, content: new Blob([text]) });
const SECRETS = [
  [file(".env"), ".env"],
  [file("a/.env.local"), "a/.env.local"],
  [file(".git/config"), ".git"],
  [file("deep/.git/objects/1"), "deep/.git"],
  [file("server.PEM"), "server.PEM"],
  [file("id_ed25519"), "id_ed25519"],
  [file("UTC--2020"), "UTC--2020"],
  [file("notes", "# created\n\nAGE-SECRET-KEY-1QQ"), "notes"],
  [file("new.txt", "AGE-SECRET-KEY-PQ-1QQ"), "new.txt"],
  [file("key.txt", "-----BEGIN OPENSSH PRIVATE KEY-----\n"), "key.txt"],
  [file("marked.txt", "\ufeff-----BEGIN PRIVATE KEY-----\n"), "marked.txt"],
];
test("files that look like secrets are named, and no others", async () => {
  for (const [secret, shown] of SECRETS) assert.deepEqual(await likelySecrets([secret]), [shown]);
  const plain = [file("env"), file("src/environment.py"), file(".gitignore"), file("a.md", "see AGE-SECRET-KEY-1")];
  assert.deepEqual(await likelySecrets(plain), []);
});

const TOKEN = { symbol: "tUSDC", decimals: 6 };
const FILLED = {
  title: "A parser: quick, and exact",
  summary: " Reads dates.\nFails on  none. ",
  escrow: "12.50",
  deadline: 1893456000,
  window: "3",
  windowUnit: "86400",
  criteria: '- `make test` exits with 0\n\nno "quotes" are lost: # not this\u2028either\n',
  deliverables: "src/parse.py",
  language: "",
  contact: "a@b.example",
  tags: "Parser, csv",
  body: "# What\r\nText.\n\n",
  finished: "",
};

test("a page is made of what was filled in", () => {
  assert.equal(
    actions.pageOf(FILLED, TOKEN),
    `---
version: 1
title: "A parser: quick, and exact"
summary: Reads dates. Fails on none.
escrow_amount: 12500000
submission_deadline: 1893456000
judging_window_seconds: 259200
acceptance_criteria:
  - "\`make test\` exits with 0"
  - "no \\"quotes\\" are lost: # not this\\u2028either"
deliverables:
  - "src/parse.py"
contact: "a@b.example"
tags:
  - "parser"
  - "csv"
---
# What
Text.
`,
  );
  assert.deepEqual(actions.missing(FILLED, TOKEN), []);
});
test("what is still to be filled in is named", () => {
  for (const [name, value] of [
    ...[["title", " "], ["escrow", "0"], ["escrow", "1,000"], ["escrow", "1.0000001"], ["escrow", "-1"], ["deadline", undefined]],
    ...[["window", "0"], ["window", "1.5"], ["criteria", "\n  \n"], ["body", ""]],
  ]) {
    const found = actions.missing({ ...FILLED, [name]: value }, TOKEN);
    assert.deepEqual(found.map((issue) => actions.placed(issue, 0).field), [name]);
  }
  assert.equal(actions.deadlineOf(""), undefined);
});
test("an issue of a list's entry stands beside the list, one of another name nowhere", () => {
  const issue = { path: "acceptance_criteria[1]", message: "must not be empty" };
  assert.deepEqual(actions.placed(issue, 0), { field: "criteria", text: "Entry 2: Must not be empty" });
  const before = actions.linesBeforeText(actions.pageOf(FILLED, TOKEN));
  const text = { path: "body", message: "Line 19: is vague" };
  assert.deepEqual(actions.placed(text, before), { field: "body", text: "Line 2: Is vague" });
  assert.equal(actions.placed({ path: "version", message: "m" }, 0), undefined);
});
test("a text with a private key of age goes nowhere, and one that speaks of keys does", () => {
  assert.throws(() => actions.requireNoKey("The text holds", `see age-secret-key-1${"q".repeat(16)}`), { code: "secret_in_document" });
  actions.requireNoKey("The text holds", "age prints AGE-SECRET-KEY-1… and AGE-SECRET-KEY-1QQ");
});

test("text of strangers is shown without what reorders or hides it", () => {
  assert.equal(printable("a\u202eb\u0000c\u200bd\u2028e"), "a?b?c?d?e");
  assert.equal(printable("x".repeat(300)).length, 201);
});

test("values are written as the pages' server writes them, and whole", () => {
  for (const [at, text] of formats.moment) assert.equal(moment(BigInt(at)), text);
  for (const [value, decimals, text] of formats.amount) assert.equal(amount(BigInt(value), { symbol: "USDC", decimals }), text);
  for (const [value, text] of formats.short) assert.equal(actions.short(value), text);
});

const USDC = { symbol: "USDC", decimals: 6 };

/** What a page shows of a refusal of the Hub. */
function refused(errorName, token, ...args) {
  const { message, nextAction } = actions.refusedBy(encodeErrorResult({ abi: actions.hubAbi, errorName, args }), token);
  return [message, nextAction];
}

test("what the Hub refuses has times as dates and amounts in tokens", () => {
  const [closed, next] = refused("SubmissionsClosed", USDC, 1n, 1893456000n, 1893456001n);
  assert.equal(closed, "Submissions closed at 1 January 2030, 00:00:00 UTC.");
  assert.match(next, /^Nothing more can be submitted/);
  assert.match(refused("EscrowTooSmall", USDC, 5n, 1000000n)[0], /0\.000005 USDC .* minimum 1 USDC\./);
  assert.match(refused("EscrowTooSmall", undefined, 5n, 1000000n)[0], /escrow 5 .* minimum 1000000\./);
  assert.match(refused("BountyNotFound", USDC, 7n)[0], /bounty 7\./);
});

test("a refusal that nobody knows has a next step all the same", () => {
  assert.match(actions.refusedBy("0x12345678", USDC).nextAction, /^Reload the page/);
});

test("a wallet that finds what the Hub refuses says it in the Hub's words, and anything else in its own", () => {
  const data = encodeErrorResult({ abi: actions.hubAbi, errorName: "SubmissionsClosed", args: [1n, 1893456000n, 1893456001n] });
  for (const error of [{ code: 3, data }, { code: -32603, data: { code: 3, data } }, { cause: { data: { originalError: { data } } } }]) {
    const { code, message, issues } = actions.walletRefusal({ message: "custom error", ...error });
    assert.deepEqual([code, message, issues], ["wallet_failed", "Submissions closed at 1 January 2030, 00:00:00 UTC.", []]);
  }
  const { message, issues } = actions.walletRefusal({ code: -32603, message: "no ether" });
  assert.deepEqual([message, issues[0].message], ["The wallet could not do this.", "no ether"]);
  assert.equal(actions.walletRefusal({ code: 4001, data }).code, "declined");
});

const ADDRESS = `0x${"aA".repeat(20)}`;
const away = () => new actions.ServiceError("api_unreachable", "the API does not answer");

/** A request that a wallet signs: what each attempt ends with. */
async function played(t, ends, more = {}) {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 0 });
  const seen = { why: [], attempts: 0 };
  const stage = {
    say() {},
    attempt: async (_title, facts, _button, work) => work(seen.why.push(new Map(facts).get("Why again"))),
    until: (work) => work(new AbortController().signal),
  };
  const send = async () => {
    const end = ends[seen.attempts++];
    if (end instanceof Error) throw end;
    return end;
  };
  const api = { GET: async () => ({ data: { state: "following" } }) };
  const context = { settings: { apiUrl: "https://api.example" }, account: ADDRESS, stage, api };
  const done = ended(t, actions.signed(context, { title: "Title", name: "POST /", facts: [], ...more }, send));
  return { ...seen, ended: await done.then((end) => end.code ?? end), attempts: seen.attempts };
}

const refusal = (code, details) => new actions.ServiceError(code, "No.", details);
const busy = (more) => refusal("service_overloaded", { status: 503, ...more });
const gateway = () => refusal("api_unreachable", { status: 502 });
const charged = { isCharged: true };
for (const [what, ends, expected, attempts, more] of [
  ["that meets a gateway's hiccup is signed once more", [gateway(), "done"], "done", 2],
  ["that a busy service refuses costs three signatures at most", [busy(), busy(), busy(), "done"], "service_overloaded", 3],
  ["that waits for finality waits as long as it is told", [busy({ retryAfter: 600 }), "done"], "done", 2],
  ["that waits for another day ends", [busy({ retryAfter: 86_400 }), "done"], "service_overloaded", 1],
  ["that may be charged is not repeated for a gateway", [gateway(), "done"], "api_unreachable", 1, charged],
  ["that may be charged is repeated where it joins a review", [refusal("publication_review_unavailable"), "done"], "done", 2, charged],
  ["that nobody answers ends", [away(), "done"], "api_unreachable", 1],
  ["that is not authorized costs three signatures at most", [...Array(3).fill(refusal("unauthorized")), "done"], "unauthorized", 3],
  ["signed over the same block as an earlier one is signed once more", [refusal("publication_review_unavailable"), "done"], "done", 2],
  ["that another signature cannot change is refused at once", [refusal("payload_too_large"), "done"], "payload_too_large", 1],
]) {
  test(`a request ${what}`, async (t) => {
    const found = await played(t, ends, more);
    assert.deepEqual([found.ended, found.attempts], [expected, attempts]);
    assert.ok(found.why.slice(1).every((why) => /needs another signature/.test(why)));
  });
}

/** Serves what an API answers to each path, one after the other, and counts the requests. */
async function withApi(t, answers) {
  const asked = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://api.example");
    asked.push(`${request.method} ${pathname} ${request.headers.authorization === undefined ? "" : "signed"}`.trim());
    const [status, body] = answers[pathname]?.shift() ?? [200, {}];
    response.writeHead(status, { "Content-Type": "application/json" }).end(body === undefined ? "" : JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${server.address().port}`;
  const signatures = [];
  const signer = { ...privateKeyToAccount(`0x${"11".repeat(32)}`) };
  const sign = signer.signTypedData;
  signer.signTypedData = async (typed) => (signatures.push(asked.length), sign(typed));
  const getBlock = async ({ blockNumber: number = 99n } = {}) => ({ number, timestamp: number, hash: NONE });
  const stage = { say() {}, until: (work) => work(new AbortController().signal), attempt: (_, __, ___, work) => work() };
  const hub = { ...deployment, hubAddress: ADDRESS.toLowerCase() };
  const api = actions.createApi(url, { deployment: hub, signer, chain: { getBlock }, asksFirst: true });
  return { asked, signatures, context: { api, stage, account: ADDRESS, settings: { apiUrl: url, deployment } } };
}

test("the pages read, sign and upload over a gateway's hiccup, and ask a wallet once the service answers", async (t) => {
  const { setTimeout: waiting } = globalThis;
  const waits = new Set([1_000, 3_000]);
  t.mock.method(globalThis, "setTimeout", (work, milliseconds, ...given) => waiting(work, waits.has(milliseconds) ? 1 : milliseconds, ...given));
  const path = "/api/bounties/6/delivery/wrap";
  const detail = { finality: "finalized" };
  const { asked, signatures, context } = await withApi(t, {
    "/api/bounties/6": [[502], [200, detail]],
    "/api/status": [[502], [200, { state: "starting" }], [200, { state: "following" }], [521], [200, { state: "following" }]],
    [path]: [[502], [201, {}]],
    "/object": [[502], [200]],
  });
  assert.deepEqual(await actions.detailOf(context, { id: 6n }), detail);
  const body = { solver_address: "", submission_commitment: "", wrapped_key: "" };
  const send = () => context.api.POST("/api/bounties/{bounty_id}/delivery/wrap", { params: { path: { bounty_id: "6" } }, body });
  const { response } = await actions.signed(context, { title: "Title", name: "POST /", facts: [] }, send);
  const target = { upload_url: `${context.settings.apiUrl}/object`, upload_method: "PUT", upload_headers: {} };
  await actions.uploadCiphertext(target, new Blob(["bytes"]));
  const unsigned = "GET /api/status";
  assert.deepEqual(asked, [
    ...["GET /api/bounties/6", "GET /api/bounties/6", unsigned, unsigned, unsigned, `POST ${path} signed`],
    ...[unsigned, unsigned, `POST ${path} signed`, "PUT /object", "PUT /object"],
  ]);
  assert.deepEqual([response.status, signatures], [201, [5, 8]]);
});

test("a wallet is asked where the service answers without its state, and not where it is another deployment's", async () => {
  const asked = async (details) => {
    let signatures = 0;
    const GET = () => Promise.reject(new actions.ServiceError("deployment_mismatch", "", details));
    const stage = { say() {}, until: (work) => work(new AbortController().signal), attempt: (_, __, ___, work) => work() };
    const context = { api: { GET }, stage, account: ADDRESS, settings: { apiUrl: "https://api.example" } };
    const signing = actions.signed(context, { title: "Title", name: "POST /", facts: [] }, async () => (signatures += 1));
    return [await signing.then(() => "done", ({ code }) => code), signatures];
  };
  assert.deepEqual(await asked({ status: 404 }), ["done", 1]);
  assert.deepEqual(await asked({}), ["deployment_mismatch", 0]);
});

test("a signature that the account's own contract refuses is sent nowhere, and asked for once", async () => {
  const digest = `0x${"dd".repeat(32)}`;
  const own = privateKeyToAccount(`0x${"11".repeat(32)}`);
  const other = await own.sign({ hash: `0x${"cc".repeat(32)}` });
  const by = (code, answer) => ({ getCode: async () => code, call: async () => ({ data: answer }) });
  const yes = `0x1626ba7e${"00".repeat(28)}`;
  const wrapped = `0x${"6492".repeat(16)}`;
  const account = own.address.toLowerCase();
  for (const [node, signature, isTaken] of [
    [by("0xef01", NONE), await own.sign({ hash: digest }), true], // a delegated key's own
    [by("0x60", yes), other, true],
    [by("0x60", yes), "0x", true], // its owners signed on the chain
    [by("0x60", NONE), other, false],
    [by("0x60", NONE), "0x", false],
    [by("0x60", NONE), wrapped, true],
    [by(undefined), other, true], // for the API to decide
  ]) {
    const found = await actions.requireAccepted(node, account, digest, signature).then(() => true, ({ code }) => code);
    assert.equal(found, isTaken || "signature_mismatch");
  }
});

for (const [what, indexed, code] of [
  ["behind the final block", 899, "index_behind"],
  ["at the final block", 900, "read_model_mismatch"],
  ["nowhere, as it says", undefined, "read_model_mismatch"],
]) {
  test(`a winner that the service does not show yet, with its index ${what}`, async () => {
    const winner = { outcome: 1, winner: NOBODY, winningSubmission: NONE };
    const node = {
      readContract: async () => winner,
      getBlock: async ({ blockTag } = {}) => ({ timestamp: blockTag === "finalized" ? 900n : 1_000n }),
    };
    const answers = {
      "/api/bounties/{bounty_id}": { finality: "finalized", facts: { outcome: null, winner: null } },
      "/api/status": { position: indexed === undefined ? null : { block_time: indexed } },
    };
    const api = { GET: async (path) => ({ data: answers[path] }) };
    const stage = { say() {}, until: (work) => work(new AbortController().signal) };
    const context = { node, hub: {}, api, stage };
    await assert.rejects(actions.finalWinner(context, { ...winner, id: 6n }), (error) => {
      assert.ok(code !== "index_behind" || error.message.includes("101 seconds"));
      return error.code === code;
    });
  });
}

test("a browser that blocks what sites keep is told so", async (t) => {
  globalThis.indexedDB = { open: () => assert.fail(new DOMException("denied", "SecurityError")) };
  t.after(() => delete globalThis.indexedDB);
  await assert.rejects(actions.Journal.open(deployment, ADDRESS), { code: "journal_unusable" });
});

const EVENT = { transactionHash: `0x${"ee".repeat(32)}`, blockNumber: 9n, args: { bountyId: 6n } };
const SENT = `0x${"aa".repeat(32)}`;
const NONE = `0x${"00".repeat(32)}`;
const NOBODY = `0x${"00".repeat(20)}`;
const STEP = { name: "step", title: "Step", act: actions.settlementAct(ADDRESS, 6n), facts: [] };
const BEGUN = { fromBlock: 10n };
const GONE = { ...BEGUN, hash: SENT };

/** A step of the pages on a made-up chain: what the node and the wallet answer, and what a person presses. */
function scene(t, { kept, node = {}, wallet = {}, presses: pressing = [] }) {
  const presses = [...pressing];
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 0 });
  const made = (name) => ({ name, children: [], append(...more) { this.children.push(...more); } });
  const createElement = (name) => ({ ...made(name), setAttribute() {}, addEventListener(_, pressed) { this.press = pressed; } });
  globalThis.document = { createElement };
  t.after(() => delete globalThis.document);
  const store = new Map(kept === undefined ? [] : [["step", kept]]);
  const journal = {
    alone: (_, work) => work(),
    get: async (name) => store.get(name),
    namesBelow: async (beginning) => [...store.keys()].filter((name) => name.startsWith(beginning)),
    put: async (name, value) => void store.set(name, value),
    remove: async (name) => void store.delete(name),
  };
  const seen = { finds: [], confirmed: [], shown: "", store };
  const chain = {
    getBlockNumber: async () => 1_000_000n,
    find: async () => undefined,
    receipt: async () => undefined,
    among: () => [],
    simulate: async () => {},
    knows: async () => false,
    ...node,
  };
  const { find } = chain;
  chain.find = (_, since) => find(seen.finds.push(since));
  const stage = {
    say() {},
    show: (...nodes) => {
      seen.shown = nodes.flatMap(({ children }) => children.filter((each) => typeof each === "string")).join("");
      nodes.flatMap(({ children }) => children).find(({ name }) => name === "button")?.press();
    },
    until: (work) => work(new AbortController().signal),
    confirm: async (title, facts, buttons) => {
      seen.confirmed.push([title, new Map(facts), buttons]);
      seen.facts = facts;
      const pressed = presses.shift();
      if (pressed === undefined) throw new actions.ServiceError("cancelled", "");
      return pressed;
    },
    attempt: async (title, facts, button, work) => (await stage.confirm(title, facts, [button]), work()),
  };
  const settings = { deployment };
  const asked = { requireReady: async () => {}, ...wallet };
  return { seen, stage, context: { account: ADDRESS, journal, node: chain, wallet: asked, settings, stage } };
}

/** What a step ends with, while time passes. */
async function ended(t, work) {
  let end;
  work.then((value) => (end = value), (error) => (end = error));
  for (let passed = 0; end === undefined && passed < 2_000; passed += 1) {
    t.mock.timers.tick(1_000);
    await new Promise(setImmediate);
  }
  return end;
}

const reverts = () => Promise.reject(new Error("execution reverted"));
const wrongChain = () => Promise.reject(new actions.ServiceError("wrong_chain", ""));
const receiptOf = (status) => async () => ({ status, logs: [] });
const FAILED = receiptOf("reverted");
const SEND = ["Send with the wallet"];
/** An account that the wallet changes while the chain is read. */
const switched = () => {
  let isSwitched = false;
  const refuse = async () => {
    if (isSwitched) throw new actions.ServiceError("wrong_account", "");
  };
  return { node: { getBlockNumber: async () => BigInt((isSwitched = true)) }, wallet: { requireReady: refuse, send: refuse } };
};
/** The log shows the event from a look on; before it nothing, or what `before` makes of the look. */
const shownFrom = (first, before = () => undefined) => async (count) => (count < first ? before(count) : EVENT);
const unreadable = (count) => (count === 1 ? undefined : reverts());
/** What a step ends with, how often the person is asked, and how many attempts stay written down. */
for (const [what, given, end, asked, left] of [
  ["that was sped up is done, once the log can be read", { kept: GONE, node: { find: shownFrom(4, unreadable) } }, "done", 0, 0],
  ["that was sped up is done, once the log has it", { kept: GONE, node: { find: shownFrom(3) } }, "done", 0, 0],
  ["that happened while its facts were read is not sent again", { kept: BEGUN, presses: SEND, node: { find: shownFrom(2) } }, "done", 1, 0],
  ["whose place a later one took is not done", { kept: GONE, step: { holds: async () => false }, node: { find: shownFrom(1) } }, "cancelled", 1, 0],
  ["that failed since somebody did the same is done", { kept: GONE, node: { find: shownFrom(2), receipt: FAILED } }, "done", 0, 0],
  ["that failed has done so once the log can be read", { kept: GONE, node: { find: async (count) => (count > 20 ? undefined : unreadable(count)), receipt: FAILED } }, "transaction_reverted", 0, 0],
  ["whose transaction did something else is not done", { kept: GONE, node: { receipt: receiptOf("success") } }, "step_not_done", 0, 0],
  ["that a wallet names in its own way can be sent again", { kept: { ...BEGUN, hash: "0xabcd" } }, "cancelled", 1, 1],
  ["is kept where its node is another chain's", { kept: GONE, node: { find: async (count) => (count === 1 ? undefined : wrongChain()) } }, "wrong_chain", 0, 1],
  ["for which the wallet was not asked has not begun", { presses: SEND, ...switched() }, "wrong_account", 1, 0],
]) {
  test(`a step ${what}`, async (t) => {
    const { seen, stage, context } = scene(t, given);
    const found = await ended(t, actions.perform(context, { ...STEP, ...given.step }));
    assert.deepEqual([found === EVENT ? "done" : found?.code, seen.confirmed.length, seen.store.size], [end, asked, left]);
  });
}

for (const [what, found, presses, expected] of [
  ["is on its way, is not done again", EVENT, [], 0],
  ["came to nothing, is done again", undefined, ["Send with the wallet"], 1],
]) {
  test(`what has to stand before a step is sent that ${what}`, async (t) => {
    const node = { find: async (count) => found ?? (count < 3 ? undefined : EVENT) };
    const given = { kept: BEGUN, presses, node, wallet: { send: async () => SENT } };
    const { seen, stage, context } = scene(t, given);
    let done = 0;
    const ready = async () => [["What it brings", String((done += 1))]];
    assert.equal((await ended(t, actions.perform(context, { ...STEP, ready }))), EVENT);
    assert.deepEqual([done, seen.confirmed.map(([, facts]) => facts.get("What it brings"))], [expected, expected ? ["1"] : []]);
  });
}

test("what is known of a transaction that was waited for is not forgotten after the wait", async (t) => {
  const waiting = new AbortController();
  const node = {
    receipt: FAILED,
    find: async (count) => (count === 1 ? undefined : waiting.abort()), // "Stop waiting", while the log is read
  };
  const { seen, stage, context } = scene(t, { kept: GONE, node });
  stage.until = (work) => work(waiting.signal);
  stage.confirm = () => assert.fail(new actions.ServiceError("stopped", ""));
  assert.equal((await ended(t, actions.perform(context, STEP))).code, "stopped");
  assert.equal(seen.store.size, 1);
});

test("a transaction names its chain, so that a wallet that was switched meanwhile refuses it", async () => {
  const asked = [];
  const answers = { eth_accounts: [ADDRESS], eth_chainId: "0x7a69", eth_sendTransaction: SENT };
  const request = async ({ method, params }) => {
    if (method === "eth_sendTransaction") asked.push(params[0]);
    return answers[method];
  };
  const wallet = await actions.Wallet.connectAgain({ id: "a", name: "A", provider: { request } }, 31337);
  assert.equal(await wallet.send(ADDRESS, "0x12"), SENT);
  assert.deepEqual(asked, [{ from: ADDRESS.toLowerCase(), to: ADDRESS, data: "0x12", value: "0x0", chainId: "0x7a69" }]);
});

test("a wallet that has changed its chain is read no more", async () => {
  const heard = new Map();
  const request = async ({ method }) => (method === "eth_accounts" ? [ADDRESS] : "0x1");
  const provider = { request, on: (event, listener) => void heard.set(event, listener) };
  const wallet = await actions.Wallet.connectAgain({ id: "a", name: "A", provider }, 1);
  assert.equal(await wallet.read("eth_blockNumber", []), "0x1");
  heard.get("chainChanged")("0x1"); // as some wallets report on connecting
  await wallet.requireReady();
  heard.get("chainChanged")("0x2");
  await assert.rejects(wallet.read("eth_blockNumber", []), { code: "wrong_chain" });
  await assert.rejects(wallet.requireReady(), { code: "wrong_chain" });
});

for (const [what, most, oldest, expected] of [
  ["in ranges of 5,000 blocks", 5_000, 8_001n, [5_000, 5_000, 2_000]],
  ["in smaller ones where a node takes fewer", 2_000, 17_001n, [1_500, 1_500]],
  ["not at all where a node takes too few", 100, 1n, "chain_unavailable"],
]) {
  test(`logs are read ${what}`, async () => {
    const ranges = [];
    const read = async (method, [filter]) => {
      if (method === "eth_blockNumber") return "0x4e20"; // 20,000
      const blocks = Number(BigInt(filter.toBlock) - BigInt(filter.fromBlock)) + 1;
      if (blocks > most) throw new Error("block range is too large");
      ranges.push(blocks);
      return [];
    };
    const node = new actions.Node({ read }, ADDRESS.toLowerCase());
    const expectedEvent = { eventName: "BountyFinalized", args: {} };
    assert.deepEqual(await node.find(expectedEvent, oldest).then(() => ranges, ({ code }) => code), expected);
  });
}

test("a node that is behind the block from which on an event is looked for has nothing yet", async () => {
  const node = new actions.Node({ read: async () => "0x4e20" }, ADDRESS.toLowerCase());
  assert.equal(await node.find({ eventName: "GuardianHeartbeat", args: { guardian: HERE } }, 20_001n), undefined);
});

for (const [pace, first] of [[2, 100_000n - 43_200n], [0.5, 0n]]) {
  test(`the last day of a chain with a block in ${pace} seconds is read`, async () => {
    let oldest;
    const read = async (method, [which]) => {
      if (method === "eth_blockNumber") return "0x186a0"; // 100,000
      if (method === "eth_getLogs") return void (oldest = BigInt(which.fromBlock)) ?? [];
      const number = which === "latest" ? 100_000 : Number(which);
      return { number: `0x${number.toString(16)}`, hash: SENT, timestamp: `0x${Math.floor(number * pace).toString(16)}` };
    };
    const node = new actions.Node({ read }, ADDRESS.toLowerCase());
    assert.deepEqual(await node.findRecent({ eventName: "GuardianHeartbeat", args: { guardian: HERE } }), []);
    assert.equal(oldest, first);
  });
}

const OWNER = privateKeyToAccount(`0x${"56".repeat(32)}`).address;
const MULTICALL = "0xcA11bde05977b3631167028862bE2a173976CA11";
const ROSTER = { quorum: 1n, accounts: [OWNER], encryptionKeys: [SENT], lastActiveAt: [0n], effectiveFrom: 0n };
const VIEW = {
  ...{ poster: OWNER, escrowAmount: 25n, specCommitment: SENT, rosterVersion: 3n, outcome: 0, reason: 0, winner: NOBODY },
  ...{ submissionDeadline: 9n, revealAt: 10n, judgingDeadline: 20n, protocolFee: 1n, guardianFee: 1n, protocolFeeRecipient: NOBODY },
  ...{ hasSubmissions: false, verdictCount: 0n, winningSubmission: NONE, awardDue: 0n, refundDue: 0n, protocolFeeDue: 0n },
  ...{ guardianFeesDue: 0n, awardClaimed: false, refundClaimed: false, protocolFeeClaimed: false },
};

/** A node that answers all that was asked in a moment, and then the next moment; what it was asked in each. */
function slowNode(chainId) {
  const deployment = { chainId, hubAddress: OWNER.toLowerCase() };
  const guardianRosterHash = actions.guardianRosterHash(chainId, deployment.hubAddress, { ...ROSTER, version: 3n });
  const own = { claimable: 0n, getSubmission: NONE, getVerdict: [1, OWNER, SENT] };
  const found = { getBounty: { ...VIEW, guardianRosterHash }, getRoster: { ...ROSTER, guardianRosterHash }, ...own, revealDelay: 60n };
  const moments = [];
  let asked = [];
  const answered = ({ data }) => {
    const { functionName } = decodeFunctionData({ abi: actions.hubAbi, data });
    const result = found[functionName];
    if (result === undefined) throw { code: 3, data: encodeErrorResult({ abi: actions.hubAbi, errorName: "BountyNotFound", args: [7n] }) };
    return encodeFunctionResult({ abi: actions.hubAbi, functionName, result });
  };
  const together = ({ data }) => {
    const [calls] = decodeFunctionData({ abi: multicall3Abi, data }).args;
    const result = calls.map(({ callData }) => {
      try {
        return { success: true, returnData: answered({ data: callData }) };
      } catch (error) {
        return { success: false, returnData: error.data };
      }
    });
    return encodeFunctionResult({ abi: multicall3Abi, functionName: "aggregate3", result });
  };
  const read = async (method, params) => {
    if (asked.push(method) === 1) setTimeout(() => moments.push(asked.splice(0)), 20);
    await new Promise((resolve) => setTimeout(resolve, 40));
    if (method === "eth_getBlockByNumber") return { number: "0x1", hash: SENT, timestamp: "0x5" };
    return params[0].to.toLowerCase() === MULTICALL.toLowerCase() ? together(params[0]) : answered(params[0]);
  };
  return { deployment, moments, read, guardianRosterHash };
}

function readerOf(deployment, wallet) {
  const hub = { address: deployment.hubAddress, abi: actions.hubAbi };
  return { settings: { deployment }, account: wallet.address, node: new actions.Node(wallet, deployment.hubAddress), hub };
}

for (const [chainId, calls] of [[8453, 1], [31337, 5]]) {
  test(`a bounty is read in one moment on chain ${chainId}`, async () => {
    const { deployment, moments, read, guardianRosterHash } = slowNode(chainId);
    const stated = {
      ...{ bounty_id: "7", poster_address: OWNER.toLowerCase(), escrow_amount: "25", spec_commitment: SENT, roster_version: 3 },
      ...{ guardian_roster_hash: guardianRosterHash, submission_deadline: 9, reveal_at: 10, judging_deadline: 20 },
      ...{ protocol_fee: "1", guardian_fee: "1" },
    };
    const reader = readerOf(deployment, { address: OWNER.toLowerCase(), chainId, read });
    const bounty = await actions.readState(reader, stated);
    assert.deepEqual([bounty.isOpen, bounty.guardians], [true, [OWNER.toLowerCase()]]);
    assert.deepEqual([bounty.submission, bounty.hasVerdict], [NONE, true]);
    assert.deepEqual(moments.map((each) => each.filter((method) => method === "eth_call").length), [calls]);
await assert.rejects(actions.readState(reader, { ...stated, roster_version: 2 }), { code: "page_differs" });
  });
}

test("a refusal among calls that are one question is the Hub's own", async () => {
  const { deployment, read } = slowNode(8453);
  const { node, hub } = readerOf(deployment, { address: OWNER, chainId: 8453, read });
  const asked = ["revealDelay", "token"].map((functionName) => node.readContract({ ...hub, functionName }));
  const [delay, refused] = await Promise.allSettled(asked);
  assert.equal(delay.value, 60n);
  assert.equal(refused.reason.code, "hub_refuses");
});

test("a key's signature is given as 65 bytes that end with 27 or 28, and no other is touched", async () => {
  const account = KEY.address.toLowerCase();
  for (const digest of [`0x${"12".repeat(32)}`, `0x${"13".repeat(32)}`, `0x${"14".repeat(32)}`]) {
    const whole = await KEY.sign({ hash: digest });
    const low = `${whole.slice(0, -2)}0${parseInt(whole.slice(-2), 16) - 27}`;
    const compact = serializeCompactSignature(signatureToCompactSignature(parseSignature(whole)));
    for (const given of [whole, low, compact]) assert.equal(await actions.wholeSignature(account, digest, given), whole);
    for (const given of [low, compact, "0x", `${whole}00`]) {
      assert.equal(await actions.wholeSignature(OWNER.toLowerCase(), digest, given), given); // a contract's
    }
  }
});

test("a wallet that hangs ends what waits for it", async (t) => {
  const provider = { request: async ({ method }) => (method === "eth_accounts" ? [ADDRESS] : new Promise(() => {})) };
  const wallet = await actions.Wallet.connectAgain({ id: "a", name: "A", provider }, 1);
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 0 });
  assert.equal((await ended(t, wallet.requireReady())).message, "The wallet does not answer.");
  const silent = { id: "a", name: "A", provider: { request: () => new Promise(() => {}) } };
  assert.equal((await ended(t, actions.Wallet.connectAgain(silent, 1)))?.message, "The wallet does not answer.");
});

const NONCE = `0x${"cd".repeat(32)}`;

const PAGE = `---\nversion: 1\n---\ntext\n`;
const PAGE_FUND = `fund ${actions.commitmentOf(PAGE)}`;

test("a bounty that is there has its creation forgotten last", async (t) => {
  const { stage, context } = scene(t, {});
  const steps = [];
  context.drafts = { get: async () => JSON.stringify({ finished: PAGE }), remove: async () => void steps.push("text") };
  Object.assign(context.journal, {
    put: async (name, { reported }) => void steps.push(`${name} ${reported}`),
    remove: async (name) => void steps.push(name),
  });
  stage.done = () => steps.push("told");
  await actions.reported(context, PAGE, {}, { id: 6n, nonce: NONCE });
  assert.deepEqual(steps, ["text", `${PAGE_FUND} 6`, `create ${NONCE}`, "told"]);
});

for (const [what, draft, isForgotten] of [
  ["in fields", FILLED, true],
  ["in fields, with another page since", { ...FILLED, title: "Another" }, false],
  ["as a finished page", { finished: actions.pageOf(FILLED, TOKEN).replaceAll("\n", "\r\n") }, true],
  ["as a finished page, with another one since", { ...FILLED, finished: "---\r\nother\n" }, false],
]) {
  test(`what was written ${what}, is ${isForgotten ? "forgotten" : "kept"} once it is funded`, async () => {
    let isThere = true;
    const drafts = { get: async () => JSON.stringify(draft), remove: async () => void (isThere = false) };
    await actions.forgetPage({ drafts, token: TOKEN }, actions.pageOf(FILLED, TOKEN));
    assert.equal(isThere, !isForgotten);
  });
}

/** What a browser answers whose disk is full. */
const full = async () => {
  throw new actions.ServiceError("journal_unusable", "This browser does not let the page save its progress.");
};

test("an act that is done is not told as failed where the browser cannot note it", async (t) => {
  const { stage, context } = scene(t, { kept: GONE, node: { find: async () => EVENT } });
  Object.assign(context.journal, { remove: full });
  context.drafts = { get: full };
  assert.equal((await ended(t, actions.perform(context, STEP))), EVENT);
  stage.done = (...told) => (stage.told = told);
  await actions.reported(context, PAGE, {}, { id: 6n, nonce: NONCE });
  assert.equal(stage.told[0], "Funded as bounty 6.");
});

test("what the wallet has sent is waited for where the browser cannot note its hash", async (t) => {
  const node = { find: async (count) => (count < 3 ? undefined : EVENT) };
  const { stage, context } = scene(t, { node, wallet: { send: async () => SENT }, presses: ["Send with the wallet"] });
  const { put } = context.journal;
  context.journal.put = (name, value) => (value.hash === undefined ? put(name, value) : full());
  assert.equal((await ended(t, actions.perform(context, STEP))), EVENT);
});

/** Gives the browser files for the page, of these names. */
function withFiles(t, ...names) {
  const files = new Map(names.map((name) => [name, new Blob([name])]));
  const getFileHandle = async (name) => ({ getFile: async () => files.get(name) ?? assert.fail("no such file") });
  const folder = { getFileHandle, removeEntry: async (name) => void files.delete(name), keys: async function* () { yield* [...files.keys()]; } };
  const navigator = { storage: { getDirectory: async () => folder } };
  const former = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
  t.after(() => (former === undefined ? delete globalThis.navigator : Object.defineProperty(globalThis, "navigator", former)));
  return files;
}

test("work that was sealed is forgotten once nothing can be recorded any more", async (t) => {
  const { seen, context } = scene(t, {});
  context.settings = { deployment };
  const file = `sealed-31337-${HERE}-7-${ADDRESS}-a`;
  const files = withFiles(t, file, "sealed-of-another");
  seen.store.set("sealed 7", { commitment: SENT, file });
  actions.submitOffers(context, { id: 7n, isOpen: true, now: 2n, submissionDeadline: 2n });
  for (let turn = 0; turn < 9; turn += 1) await new Promise(setImmediate);
  assert.deepEqual([seen.store.size, [...files.keys()]], [0, ["sealed-of-another"]]);
});

test("sealing that is waited for no longer ends with its worker", async (t) => {
  let hasEnded = false;
  globalThis.Worker = class {
    postMessage() {} // a file that is never read to its end
    terminate() {
      hasEnded = true;
    }
  };
  t.after(() => delete globalThis.Worker);
  const waiting = new AbortController();
  const sealing = actions.sealInWorker({}, () => {}, waiting.signal);
  waiting.abort();
  await assert.rejects(sealing, { name: "AbortError" });
  assert.equal(hasEnded, true);
});

const TERMS = {
  specCommitment: NONCE,
  expectedRosterHash: NONCE,
  salt: NONCE,
  ...{ escrowAmount: 9n, submissionDeadline: 9n, judgingWindow: 9n, maxProtocolFee: 0n, maxGuardianFee: 0n },
};
const HERE = ADDRESS.toLowerCase();
const KEPT = { terms: TERMS, validBefore: 9n, nonces: [], signedUntil: 9n };
for (const [what, known, kept, asks, lost] of [
  ["and no other bounty is there, is gone on with", [], KEPT, 0],
  ["beside a bounty of another machine, is asked about", [{ id: 6n }], KEPT, 1],
  ["not at all, beside a bounty, is asked about", [{ id: 6n }], undefined, 1],
  ["for a bounty that nobody shows any more, is asked about", [], undefined, 1, 6n],
]) {
  test(`a page that was signed for, ${what}`, async (t) => {
    const { seen, stage, context } = scene(t, { presses: ["Fund it once more"] });
    Object.assign(context, { account: HERE, settings: { deployment: { chainId: 31337, hubAddress: HERE } } });
    await actions.requireWanted(context, known, kept, lost);
    assert.equal(seen.confirmed.length, asks);
    Object.assign(context.journal, { get: async () => ({ id: "1" }) });
    if (kept !== undefined) await actions.requireWanted(context, known, kept, lost); // its creation was begun
    assert.equal(seen.confirmed.length, asks);
  });
}

const OTHER = `fund 0x${"ab".repeat(32)}`;
for (const [what, kept, expected] of [
  ["is signed for", { signedUntil: 3_600n }, /until 1 January 1970, 01:00/],
  ["was signed for, and is over", { signedUntil: 900n }, undefined],
  ["was signed for, at a node without final blocks", { signedUntil: 900n, isEndless: true }, /until 1 January 1970, 00:15/],
  ["was never signed for", { signedUntil: 0n }, undefined],
  ["was reported", { signedUntil: 3_600n, reported: 6n }, undefined],
]) {
  test(`another text that ${what} is ${expected === undefined ? "passed over" : "asked about"}`, async (t) => {
    const { seen, stage, context } = scene(t, { presses: ["Fund this page as well"] });
    context.node.getBlock = async () => (kept.isEndless ? reverts() : { timestamp: 1_000n });
    Object.assign(context, { settings: { deployment, hasMovedTime: true } });
    seen.store.set(OTHER, { nonces: [NONCE], ...kept });
    await actions.requireNoOtherText(context, OTHER.slice(5)); // the same text goes on
    await actions.requireNoOtherText(context, `0x${"cd".repeat(32)}`);
    assert.match([...(seen.confirmed[0]?.[1] ?? [])].join(), expected ?? /^$/);
    assert.equal(seen.confirmed.length, expected === undefined ? 0 : 1);
  });
}

for (const [what, answer, expected] of [
  ["refuses it, is none", "hub_refuses", []],
  ["does not answer, is not called none", "chain_unavailable", "chain_unavailable"],
]) {
  test(`a bounty that was seen on a page, and about which a node ${what}`, async (t) => {
    const { stage, context } = scene(t, {});
    context.api = { POST: async () => ({ data: { data: { bounties: [] } }, response: new Response() }) };
    context.node.findRecent = async () => [];
    context.node.readContract = () => Promise.reject(new actions.ServiceError(answer, ""));
    const found = await actions.escrowsOf(context, NONCE, 6n).catch((error) => error.code ?? error);
    assert.deepEqual(found, expected);
  });
}

test("a bounty that the API lists has to be the node's, too", async (t) => {
  const { stage, context } = scene(t, { node: { findRecent: async () => [] } });
  context.api = { POST: async () => ({ data: { data: { bounties: [{ bounty_id: "7" }] } }, response: new Response() }) };
  context.account = HERE;
  context.node.readContract = async () => ({ poster: ADDRESS, specCommitment: NONCE });
  assert.deepEqual(await actions.escrowsOf(context, NONCE, undefined), [{ id: 7n }]);
  context.node.readContract = async () => ({ poster: OWNER, specCommitment: NONCE });
  assert.equal((await ended(t, actions.escrowsOf(context, NONCE, undefined))).code, "sources_disagree");
});

const DIGEST = `0x${"12".repeat(32)}`;
const KEY = privateKeyToAccount(`0x${"34".repeat(32)}`);
const MAGIC = `0x1626ba7e${"00".repeat(28)}`;
const DELEGATED = `0xef0100${"ab".repeat(20)}`;
const answers = (data) => async () => ({ data });
/** Code of the account, what it answers to ERC-1271, and the way that is left. */
for (const [what, code, call, expected] of [
  ["a plain key", "0x", reverts, "authorization"],
  ["a plain key, as viem shows it", undefined, reverts, "authorization"],
  ["a Safe", "0x60806040", answers(MAGIC), "authorization"],
  ["a delegation to code that confirms signatures", DELEGATED, answers(MAGIC), "authorization"],
  ["a delegation to code that refuses them", DELEGATED, answers(`0x${"ff".repeat(4)}${"00".repeat(28)}`), "allowance"],
  ["a delegation to code that reverts", DELEGATED, reverts, "allowance"],
  ["a delegation to code that answers nothing", DELEGATED, answers("0x"), "allowance"],
  ["a delegation to nothing", DELEGATED, answers(undefined), "allowance"],
  ["a delegation that answers four bytes", DELEGATED, answers("0x1626ba7e"), "allowance"],
  ["a delegation that answers a dirty word", DELEGATED, answers(`0x1626ba7e${"00".repeat(27)}01`), "allowance"],
]) {
  test(`${what} funds by ${expected}`, async () => {
    const chain = { getCode: async () => code, call };
    const signature = await KEY.sign({ hash: DIGEST });
    assert.equal(await actions.fundingPath(chain, KEY.address, DIGEST, signature), expected);
  });
}

test("a contract account that is not on the chain yet is refused, whatever its signature looks like", async () => {
  const chain = { getCode: async () => "0x", call: reverts };
  const signature = await KEY.sign({ hash: DIGEST });
  for (const given of [`${signature}${"00".repeat(64)}${"6492".repeat(16)}`, signature, "0x"]) {
    const refused = actions.fundingPath(chain, ADDRESS, DIGEST, given);
    await assert.rejects(refused, { code: "account_not_deployed" });
  }
});

test("a node that does not answer says nothing of an account", async () => {
  let asked = 0;
  const getCode = async () => {
    asked += 1;
    if (asked > 1) throw new Error("no connection");
    return DELEGATED;
  };
  const refused = actions.fundingPath({ getCode, call: reverts }, ADDRESS, DIGEST, "0x");
  await assert.rejects(refused, { message: "no connection" });
});

const guardian = `0x${"bb".repeat(20)}`;
const named = { solver: `0x${"Cc".repeat(20)}`, commitment: `0x${"dd".repeat(32)}` };
const deployment = { chainId: 31337, hubAddress: ADDRESS };
const reasons = ["Every criterion holds.", "  # Reasons\r\n\r\n---\nkind: awarded\n", "näïve ✓"];
const documents = reasons.flatMap((text) => [
  verdictDocument(deployment, 7n, guardian, named, text),
  verdictDocument(deployment, 7n, guardian, undefined, text),
]);
test("reasons that are too long are refused", () => {
  assert.throws(() => verdictDocument(deployment, 7n, guardian, undefined, "x".repeat(262_144)), {
    code: "payload_too_large",
  });
});
test.after(() => console.log(`page ${JSON.stringify(actions.pageOf(FILLED, TOKEN))}`));
test.after(() => console.log(`documents ${JSON.stringify(documents)}`));
