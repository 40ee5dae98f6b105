// What this client makes of drawn capsules, archives and pages: node test/sealed.mjs JOB.json prints a list for each kind,
// which the test compares with Python's; and capsules that it seals itself, for Python to open.
import { readFileSync } from "node:fs";
import { ServiceError, pageTerms, publicKeyOf } from "bounty-escrow-client";
import { unpack } from "../dist/archive.js";
import { openCapsule, sealCapsule } from "../dist/capsule.js";

const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { beacon, signature, guardian, rosterSize, envelope, identity, bounty, solver, round } = job;
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));
const binding = { chainId: bounty.chainId, hubAddress: bounty.hubAddress, bountyId: bounty.bountyId, solverAddress: solver };

async function* whole(data) {
  yield data;
}

async function outcomes(items, work) {
  const found = [];
  for (const item of items) {
    try {
      found.push(await work(item));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      found.push(error.code);
    }
  }
  return found;
}

const keys = { beacon, round, signature, keyring: [guardian], rosterSize };
const made = [];
for (let count = 0; count < job.made; count += 1) {
  const capsule = await sealCapsule(identity, binding, bounty.encryptionKeys, round, beacon);
  made.push(Buffer.from(capsule).toString("base64"));
}
console.log(
  JSON.stringify({
    capsules: await outcomes(job.capsules, async (text) =>
      publicKeyOf(await openCapsule(bytes(text), keys, envelope.content_public_key, binding)),
    ),
    archives: await outcomes(job.archives, async (tar) => (await unpack(whole(bytes(tar)), () => undefined)).fileCount),
    pages: await outcomes(job.pages, (page) => {
      const { title, escrowAmount, submissionDeadline, judgingWindow } = pageTerms(page);
      return [title, ...[escrowAmount, submissionDeadline, judgingWindow].map(String)];
    }),
    made,
  }),
);
