import { createWriteStream, openAsBlob } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { ServiceError, answerOf, createApi, hubAbi, readBounty, sealSubmission, uploadCiphertext } from "bounty-escrow-client";
import { createPublicClient, createWalletClient, http, zeroHash } from "viem";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { apiUrl, beacon, deployment, rpcUrl } from "./settings.js";

const [tag = "", ...files] = process.argv.slice(2);
const account = privateKeyToAccount(process.env.SERVICE_SOLVER_PRIVATE_KEY as Hex);
const chain = createPublicClient({ transport: http(rpcUrl) });
const wallet = createWalletClient({ account, transport: http(rpcUrl) });
const api = createApi(apiUrl, { deployment, signer: account, chain });
const hub = { address: deployment.hubAddress, abi: hubAbi } as const;
const me = account.address.toLowerCase();
const seconds = Number(process.env.BOT_SECONDS ?? "60");

/** Whether this account has submitted to a bounty: the chain's word, so that a restart submits nothing twice. */
async function hasSubmitted(bountyId: bigint): Promise<boolean> {
  const recorded = await chain.readContract({ ...hub, functionName: "getSubmission", args: [bountyId, account.address] });
  return recorded !== zeroHash;
}

async function submit(bountyId: bigint): Promise<void> {
  const bounty = await readBounty(chain, deployment, bountyId);
  const entries = await Promise.all(files.map(async (file) => ({ path: basename(file), content: await openAsBlob(file) })));
  const folder = await mkdtemp(join(tmpdir(), "sealed-"));
  try {
    const sealedFile = join(folder, "artifact.age");
    const sink = Writable.toWeb(createWriteStream(sealedFile, { mode: 0o600 }));
    const { envelope, commitment } = await sealSubmission(entries, { bounty, solverAddress: account.address, beacon }, sink);
    const { ciphertext } = envelope;
    const path = { bounty_id: `${bountyId}`, solver_address: envelope.solver_address };
    const target = await answerOf(
      api.POST("/api/bounties/{bounty_id}/submissions/{solver_address}/artifact-upload-url", {
        params: { path },
        body: { ciphertext_sha256: ciphertext.sha256, ciphertext_byte_length: ciphertext.byte_length },
      }),
    );
    if (target.storage_locator !== ciphertext.storage_locator) throw new Error("the API names another storage locator");
    await uploadCiphertext(target, await openAsBlob(sealedFile));
    const prepared = await answerOf(
      api.POST("/api/bounties/{bounty_id}/submissions/{solver_address}/prepare", { params: { path }, body: envelope }),
    );
    if (prepared.submission_commitment !== commitment) throw new Error("the API derives another commitment");
    await send("submit", [bountyId, commitment, bounty.guardianRosterHash]);
    console.log(`submitted ${bountyId}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Send a transaction of the Hub and wait until it is mined; one that would be refused is not sent. */
async function send(functionName: "submit" | "claim", args: readonly unknown[]): Promise<void> {
  const { request } = await chain.simulateContract({ ...hub, account, functionName, args: args as never });
  const receipt = await chain.waitForTransactionReceipt({ hash: await wallet.writeContract(request) });
  if (receipt.status !== "success") throw new Error(`the Hub refused the transaction ${receipt.transactionHash}`);
}

async function look(): Promise<void> {
  const open = await answerOf(api.GET("/api/bounties", { params: { query: { tag, accepting: true, limit: 100 } } }));
  for (const { bounty_id } of open.items) {
    if (!(await hasSubmitted(BigInt(bounty_id)))) await submit(BigInt(bounty_id));
  }
  const final = { status: "final", solver_address: me, limit: 100 } as const;
  const ended = await answerOf(api.GET("/api/bounties", { params: { query: final } }));
  for (const { bounty_id, facts } of ended.items) {
    const bountyId = BigInt(bounty_id);
    if (facts.winner?.solver_address !== me) continue;
    const due = await chain.readContract({ ...hub, functionName: "claimable", args: [bountyId, account.address] });
    if (due > 0n) {
      await send("claim", [bountyId, "0x", "0x"]);
      console.log(`claimed ${bountyId}`);
    }
  }
}

for (;;) {
  try {
    await look();
  } catch (error) {
    // What failed is looked at again; a refusal says what to do.
    console.error(error instanceof ServiceError ? `${error.code}: ${error.nextAction}` : error);
  }
  await pause(seconds * 1_000);
}
