// In a browser: a file of the origin's private file system is sealed into another one, and that one opened again.
import { openArtifact, openContentKey, parseEnvelope, sealSubmission } from "bounty-escrow-client";

const MEBIBYTE = 1024 * 1024;

async function sha256Of(chunks) {
  const { sha256 } = await import("@noble/hashes/sha2.js");
  const digest = sha256.create();
  for await (const chunk of chunks) digest.update(chunk);
  return Array.from(digest.digest(), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function* chunksOf(blob) {
  const reader = blob.stream().getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) yield step.value;
}

globalThis.sealAndOpen = async (job) => {
  const folder = await navigator.storage.getDirectory();
  const [source, sealed] = await Promise.all(
    ["source", "sealed"].map((name) => folder.getFileHandle(name, { create: true })),
  );
  const writing = await source.createWritable();
  const block = new Uint8Array(MEBIBYTE);
  for (let number = 0; number < job.mebibytes; number += 1) await writing.write(block.fill(number));
  await writing.close();

  const entries = [{ path: "work/large", content: await source.getFile() }];
  const { bounty, solver: solverAddress, beacon, signature, guardian, rosterSize } = job;
  const began = performance.now();
  const { bytes } = await sealSubmission(entries, { bounty, solverAddress, beacon }, await sealed.createWritable());
  const sealSeconds = (performance.now() - began) / 1000;
  const envelope = parseEnvelope(bytes);
  const identity = await openContentKey(envelope, { beacon, signature, keyring: [guardian], rosterSize });
  const found = {};
  const ciphertext = (await sealed.getFile()).stream();
  await openArtifact(ciphertext, identity, envelope, async ({ path, directory, size, content }) => {
    if (!directory) found[path] = [size, await sha256Of(content)];
  });
  return { found, sealSeconds, wanted: await sha256Of(chunksOf(await source.getFile())) };
};
