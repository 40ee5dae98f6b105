// What Python sealed is opened, and files are sealed for Python to open: node exchange.mjs JOB.json prints the results.
import { createHash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  openAsBlob,
  readFileSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { Readable, Writable } from "node:stream";
import * as client from "bounty-escrow-client";
import { unpack } from "../dist/archive.js";
import { plaintextOf } from "../dist/open.js";

const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));

async function* whole(data) {
  yield data;
}

/** The failure class of a refusal, or what the attempt returned. */
async function outcome(attempt) {
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof client.ServiceError) return error.code;
    throw error;
  }
}

/** Every file's SHA-256 by its path, directories with a slash and none. */
async function open({ folder }) {
  const envelope = client.parseEnvelope(readFileSync(join(folder, "envelope.json")));
  const differences = client.envelopeDifferences(envelope, job.bounty, job.solver, job.beacon);
  if (differences.length > 0) throw new Error(JSON.stringify(differences));
  const { beacon, signature, guardian, rosterSize } = job;
  const identity = await client.openContentKey(envelope, { beacon, signature, keyring: [guardian], rosterSize });
  const found = {};
  const ciphertext = Readable.toWeb(createReadStream(join(folder, "artifact.age")));
  await client.openArtifact(ciphertext, identity, envelope, async ({ path, directory, content }) => {
    const digest = createHash("sha256");
    for await (const chunk of content) digest.update(chunk);
    found[directory ? `${path}/` : path] = directory ? "" : digest.digest("hex");
  });
  return found;
}

async function seal({ source, folder }) {
  const entries = [];
  for (const each of readdirSync(source, { recursive: true, withFileTypes: true })) {
    const file = join(each.parentPath ?? each.path, each.name);
    const path = relative(source, file);
    entries.push(each.isDirectory() ? { path, directory: true } : { path, content: await openAsBlob(file) });
  }
  const { bounty, beacon, solver: solverAddress } = job;
  const sink = Writable.toWeb(createWriteStream(join(folder, "artifact.age")));
  const sealed = await client.sealSubmission(entries, { bounty, solverAddress, beacon }, sink);
  writeFileSync(join(folder, "envelope.json"), sealed.bytes);
  return sealed.commitment;
}

async function tampered({ artifact, sha256, byteLength }) {
  const envelope = { ...job.envelope, ciphertext: { sha256, byte_length: byteLength } };
  const stream = new Blob([bytes(artifact)]).stream();
  return (await client.openArtifact(stream, job.identity, envelope, () => undefined)).fileCount;
}

const each = async (items, work) => {
  const results = [];
  for (const item of items ?? []) results.push(await outcome(() => work(item)));
  return results;
};

/** The most that this program has held; where Linux counts it, without what the process held that started it. */
function peakKilobytes() {
  const status = "/proc/self/status";
  if (!existsSync(status)) return process.resourceUsage().maxRSS;
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, "utf8"))[1]);
}

console.log(
  JSON.stringify({
    opened: await each(job.open, open),
    sealed: await each(job.seal, seal),
    tampered: await each(job.tampered, tampered),
    tars: await each(job.tars, async (tar) => (await unpack(whole(bytes(tar)), () => undefined)).fileCount),
    ages: await each(job.ages, async (age) => {
      let size = 0;
      for await (const chunk of await plaintextOf(whole(bytes(age)), job.identity)) size += chunk.length;
      return size;
    }),
    wraps: await each(job.wrapTo, (key) => client.wrapContentKey(job.identity, key)),
    peakKilobytes: peakKilobytes(),
  }),
);
