import { createWriteStream, existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  answerOf,
  commitmentOf,
  createApi,
  downloadCiphertext,
  envelopeDifferences,
  fetchBeacon,
  hubAbi,
  openArtifact,
  openContentKey,
  parseEnvelope,
  readBounty,
} from "bounty-escrow-client";
import { createPublicClient, http } from "viem";
import type { Address, Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import "./refused.js";
import { apiUrl, beacon, deployment, relays, rpcUrl } from "./settings.js";

const [bountyId = "", solver = "", commitment = "", directory = ""] = process.argv.slice(2);
if (existsSync(directory)) throw new Error(`${directory} exists already`);
const signer = privateKeyToAccount(process.env.SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY as Hex);
const keyring = JSON.parse(process.env.SERVICE_GUARDIAN_PRIVATE_KEYS_JSON ?? "[]") as string[];
const chain = createPublicClient({ transport: http(rpcUrl) });
const api = createApi(apiUrl, { deployment, signer, chain });

// The chain decides what is opened; the API only has the bytes.
const bounty = await readBounty(chain, deployment, BigInt(bountyId));
const hub = { address: deployment.hubAddress, abi: hubAbi } as const;
const recorded = await chain.readContract({
  ...hub,
  functionName: "getSubmission",
  args: [BigInt(bountyId), solver as Address],
});
if (recorded !== commitment) throw new Error("the Hub does not record this Submission");
const content = await answerOf(
  api.GET("/api/bounties/{bounty_id}/submissions/{submission_commitment}/content", {
    params: { path: { bounty_id: bountyId, submission_commitment: commitment } },
  }),
);
if (commitmentOf(content.envelope) !== commitment) throw new Error("this is not the committed envelope");
const envelope = parseEnvelope(content.envelope);
const differences = envelopeDifferences(envelope, bounty, solver as Address, beacon);
if (differences.length > 0) throw new Error(`the envelope is not for this bounty: ${JSON.stringify(differences)}`);

// Both locks: the beacon's signature, verified, and this Guardian's key.
const signature = await fetchBeacon(envelope.reveal_policy.round, beacon, relays);
const rosterSize = bounty.encryptionKeys.length;
const identity = await openContentKey(envelope, { beacon, signature, keyring, rosterSize });

const draft = `${directory}.part`;
await mkdir(draft, { mode: 0o700 });
try {
  const ciphertext = downloadCiphertext(content.download_url, envelope); // continued where a connection ends early
  const opened = await openArtifact(ciphertext, identity, envelope, async (entry) => {
    const target = join(draft, entry.inertPath);
    await mkdir(entry.directory ? target : dirname(target), { recursive: true, mode: 0o700 });
    if (entry.directory) return;
    await pipeline(Readable.from(entry.content), createWriteStream(target, { flags: "wx", mode: 0o600 }));
  });
  await rename(draft, directory);
  console.log(`${opened.fileCount} files`);
} finally {
  await rm(draft, { recursive: true, force: true });
}
