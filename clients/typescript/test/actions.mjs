// The parts of the wallet actions that need no browser: what they read of strangers' text, and the files they write.
// Prints, as its last line, the written Verdicts that Python compares with its own.
import assert from "node:assert/strict";
import test from "node:test";
import { buildSync } from "esbuild";

const source = ["files", "safe", "text", "verdict"].map((name) => `export * from "./${name}.js";`);
const { outputFiles } = buildSync({
  stdin: { contents: source.join("\n"), resolveDir: new URL("../actions", import.meta.url).pathname, loader: "ts" },
  bundle: true,
  format: "esm",
  platform: "node",
  write: false,
});
const { suspicious, transactionBuilder, verdictDocument, printable, amount, duration, moment } = await import(
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
  [file("key.txt", "-----BEGIN OPENSSH PRIVATE KEY-----\n"), "key.txt"],
];
for (const [secret, shown] of SECRETS) {
  test(`${secret.path} looks like a secret`, async () => assert.deepEqual(await suspicious([secret]), [shown]));
}
for (const plain of [
  file("env"),
  file("src/environment.py"),
  file(".gitignore"),
  file("a.md", "see AGE-SECRET-KEY-1"),
]) {
  test(`${plain.path} does not look like a secret`, async () => assert.deepEqual(await suspicious([plain]), []));
}

test("a Safe's file has the call as its bytes alone", () => {
  const call = { to: `0x${"ab".repeat(20)}`, data: "0x1234" };
  const batch = JSON.parse(transactionBuilder(8453, `0x${"cd".repeat(20)}`, call, "Claim", 5));
  assert.deepEqual(
    [batch.version, batch.chainId, batch.createdAt, batch.meta.description],
    ["1.0", "8453", 5, "Claim"],
  );
  const [transaction] = batch.transactions;
  assert.equal(transaction.to.toLowerCase(), call.to);
  assert.deepEqual(
    { ...transaction, to: "" },
    { to: "", value: "0", data: "0x1234", contractMethod: null, contractInputsValues: null },
  );
});

test("text of strangers is shown without what reorders or hides it", () => {
  assert.equal(printable("a\u202eb\u0000c\u200bd\u2028e"), "a?b?c?d?e");
  assert.equal(printable("x".repeat(300)).length, 201);
});

test("values are whole", () => {
  assert.equal(amount(1n, { symbol: "USDC", decimals: 6 }), "0.000001 USDC");
  assert.equal(moment(1893456000n), "2030-01-01 00:00:00 UTC");
  assert.equal(moment(2n ** 200n), `${2n ** 200n} seconds after 1970`);
  assert.deepEqual([duration(259200n), duration(90n), duration(7200)], ["3 days", "90 seconds", "2 hours"]);
});

const ADDRESS = `0x${"aA".repeat(20)}`;
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
test.after(() => console.log(`documents ${JSON.stringify(documents)}`));
