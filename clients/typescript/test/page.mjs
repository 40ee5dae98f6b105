// In a browser: the vectors' cases; and a file of the origin's private file system, which is sealed into another one, and
// that one uploaded and opened.
import { openArtifact, openContentKey, parseEnvelope, uploadCiphertext } from "bounty-escrow-client";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { removeOthers, sealInWorker } from "../actions/sealing.ts";
import { cases } from "./vectors.mjs";

const MEBIBYTE = 1024 * 1024;
const SEALED = "sealed";
/** Nobody stops it. */
const ENDLESS = new AbortController().signal;

/** A file whose mebibytes are filled with their numbers. */
globalThis.writeSource = async (mebibytes) => {
  const folder = await navigator.storage.getDirectory();
  const source = await folder.getFileHandle("source", { create: true });
  const writing = await source.createWritable();
  const block = new Uint8Array(MEBIBYTE);
  for (let number = 0; number < mebibytes; number += 1) await writing.write(block.fill(number));
  await writing.close();
};

/** Its first mebibytes, sealed as a page does it: the seconds that it took, and the envelope. */
globalThis.seal = async ({ bounty, solver: solverAddress, beacon }, mebibytes) => {
  const folder = await navigator.storage.getDirectory();
  const source = await (await folder.getFileHandle("source")).getFile();
  const files = [{ path: "work/large", content: source.slice(0, mebibytes * MEBIBYTE) }];
  const began = performance.now();
  const order = { files, sealFor: { bounty, solverAddress, beacon }, target: SEALED };
  const envelope = await sealInWorker(order, () => undefined, ENDLESS);
  return { sealSeconds: (performance.now() - began) / 1000, envelope: new TextDecoder().decode(envelope) };
};

/** Sends what was sealed to this origin's storage; whether it was reported how much, up to the whole. */
globalThis.upload = async () => {
  const folder = await navigator.storage.getDirectory();
  const target = { upload_url: `${location.origin}/upload`, upload_method: "PUT", upload_headers: {} };
  const file = await (await folder.getFileHandle(SEALED)).getFile();
  const reported = [];
  await uploadCiphertext(target, file, { onProgress: ({ done }) => reported.push(done) });
  return reported.at(-1) === file.size && reported.every((done, index) => index === 0 || done >= reported[index - 1]);
};

/** The size and the SHA-256 of each file in what was sealed. */
globalThis.open = async ({ beacon, signature, guardian, rosterSize }, text) => {
  const folder = await navigator.storage.getDirectory();
  const envelope = parseEnvelope(new TextEncoder().encode(text));
  const identity = await openContentKey(envelope, { beacon, signature, keyring: [guardian], rosterSize });
  const found = {};
  const ciphertext = (await (await folder.getFileHandle(SEALED)).getFile()).stream();
  await openArtifact(ciphertext, identity, envelope, async ({ path, directory, size, content }) => {
    if (directory) return;
    const digest = sha256.create();
    for await (const chunk of content) digest.update(chunk);
    found[path] = [size, bytesToHex(digest.digest())];
  });
  return found;
};

/** The code and the message with which sealing a file of this name is refused; nothing of it is kept. */
globalThis.refusal = async ({ bounty, solver: solverAddress, beacon }, path) => {
  const folder = await navigator.storage.getDirectory();
  const files = [{ path, content: await (await folder.getFileHandle("source")).getFile() }];
  try {
    const order = { files, sealFor: { bounty, solverAddress, beacon }, target: "refused" };
    await sealInWorker(order, () => undefined, ENDLESS);
    return ["sealed", ""];
  } catch ({ code, message }) {
    return [code, message];
  }
};

/** The names of the origin's files once all that begin with "sealed" but one are removed. */
globalThis.removed = async () => {
  const folder = await navigator.storage.getDirectory();
  await folder.getFileHandle("sealed earlier", { create: true });
  await removeOthers("sealed", "sealed");
  return (await Array.fromAsync(folder.keys())).sort();
};

/** The file in the page's memory as a whole, as often as it takes to have so many bytes. */
globalThis.hold = async (bytes) => {
  const folder = await navigator.storage.getDirectory();
  const file = await (await folder.getFileHandle("source")).getFile();
  globalThis.held = [];
  for (let size = 0; size < bytes; size += file.size) globalThis.held.push(await file.arrayBuffer());
};

/** The names of the vectors' cases, each with what it was refused with; empty where it holds. */
globalThis.runVectors = async () => {
  const found = {};
  for (const { name, run } of cases) {
    try {
      await run();
      found[name] = "";
    } catch (error) {
      found[name] = String(error);
    }
  }
  return found;
};
