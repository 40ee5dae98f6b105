import { createWriteStream, openAsBlob } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { ServiceError, actEvents, answerOf, claimAct, createApi, hubAbi, readBounty, sealSubmission } from "bounty-escrow-client";
import { submissionAct, uploadCiphertext } from "bounty-escrow-client";
import type { Act, ActEvent, PinnedBounty, SealedSubmission } from "bounty-escrow-client";
import { BaseError, createPublicClient, createWalletClient, http, toHex, zeroHash } from "viem";
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

/** What was sealed for a bounty and is not recorded yet: sealed again, it would be one more that the service has to keep. */
interface Kept {
  readonly folder: string;
  readonly file: string;
  readonly sealed: SealedSubmission;
  isUploaded: boolean;
}

const kept = new Map<string, Kept>();

/** Whether this account has submitted to a bounty: the chain's word, also after a restart. */
async function hasSubmitted(bountyId: bigint): Promise<boolean> {
  const recorded = await chain.readContract({ ...hub, functionName: "getSubmission", args: [bountyId, account.address] });
  return recorded !== zeroHash;
}

/**
 * The nonce of the next transaction, while none waits for a block, as where fees rose: sent again, it would be mined twice
 * and count from the later block. With the nonce of one that an endpoint lost, a transaction can only take its place.
 */
async function nextNonce(): Promise<number> {
  const sent = (blockTag: "latest" | "pending") => chain.getTransactionCount({ address: account.address, blockTag });
  const [mined, known] = await Promise.all([sent("latest"), sent("pending")]);
  if (known > mined) throw new Error(`a transaction of ${account.address} waits for a block`);
  return mined;
}

/** Refuses before anything is sealed or uploaded what could not be recorded: the Hub's refusal, or too little ether. */
async function requireRecordable(bountyId: bigint, rosterHash: Hex): Promise<void> {
  const args = [bountyId, toHex(1, { size: 32 }), rosterHash] as const;
  const gas = await chain.estimateContractGas({ ...hub, account, functionName: "submit", args });
  const cost = gas * (await chain.getGasPrice());
  if ((await chain.getBalance(account)) < cost) throw new Error(`${account.address} needs ${cost} wei to submit`);
}

async function seal(bounty: PinnedBounty): Promise<Kept> {
  const entries = await Promise.all(files.map(async (file) => ({ path: basename(file), content: await openAsBlob(file) })));
  const folder = await mkdtemp(join(tmpdir(), "sealed-"));
  const file = join(folder, "artifact.age");
  const sink = Writable.toWeb(createWriteStream(file, { mode: 0o600 }));
  try {
    const sealed = await sealSubmission(entries, { bounty, solverAddress: account.address, beacon }, sink);
    return { folder, file, sealed, isUploaded: false };
  } catch (error) {
    await rm(folder, { recursive: true, force: true }); // each round seals anew
    throw error;
  }
}

async function upload({ file, sealed }: Kept, path: { bounty_id: string; solver_address: string }): Promise<void> {
  const { ciphertext } = sealed.envelope;
  const target = await answerOf(
    api.POST("/api/bounties/{bounty_id}/submissions/{solver_address}/artifact-upload-url", {
      params: { path },
      body: { ciphertext_sha256: ciphertext.sha256, ciphertext_byte_length: ciphertext.byte_length },
    }),
  );
  if (target.storage_locator !== ciphertext.storage_locator) throw new Error("the API names another storage locator");
  await uploadCiphertext(target, await openAsBlob(file)).catch((error: unknown) => {
    if (!(error instanceof ServiceError && error.status === 412)) throw error; // it has the bytes already
  });
}

async function submit(bountyId: bigint): Promise<void> {
  const bounty = await readBounty(chain, deployment, bountyId);
  await nextNonce();
  await requireRecordable(bountyId, bounty.guardianRosterHash);
  const work = kept.get(`${bountyId}`) ?? (await seal(bounty));
  kept.set(`${bountyId}`, work);
  const { envelope, commitment } = work.sealed;
  const path = { bounty_id: `${bountyId}`, solver_address: envelope.solver_address };
  if (!work.isUploaded) await upload(work, path);
  work.isUploaded = true;
  const prepared = await answerOf(
    api.POST("/api/bounties/{bounty_id}/submissions/{solver_address}/prepare", { params: { path }, body: envelope }),
  ).catch((error: unknown) => {
    const isMissing = error instanceof ServiceError && error.issues.some(({ path }) => path === "ciphertext");
    if (isMissing) work.isUploaded = false; // the storage lost it: the next round uploads it again
    throw error;
  });
  if (prepared.submission_commitment !== commitment) throw new Error("the API derives another commitment");
  const roster = bounty.guardianRosterHash;
  const act = submissionAct(deployment.hubAddress, bountyId, account.address, commitment, roster);
  await send("submit", [bountyId, commitment, roster], act);
  await forget(`${bountyId}`);
  console.log(`submitted ${bountyId}`);
}

async function forget(bountyId: string): Promise<void> {
  const work = kept.get(bountyId);
  kept.delete(bountyId);
  if (work !== undefined) await rm(work.folder, { recursive: true, force: true });
}

/**
 * Send a transaction of the Hub and wait until it is mined; one that would be refused is not sent. The receipt may be that of
 * one which took its place, as an earlier one that an endpoint had lost: the event shows whether this act is done.
 */
async function send(functionName: "submit" | "claim", args: readonly unknown[], act: Act<ActEvent>): Promise<void> {
  const nonce = await nextNonce();
  const { request } = await chain.simulateContract({ ...hub, account, functionName, args: args as never });
  const hash = await wallet.writeContract({ ...request, nonce });
  const { logs, transactionHash } = await chain.waitForTransactionReceipt({ hash });
  if (actEvents(act, logs) === undefined) throw new Error(`the transaction ${transactionHash} did not do it`);
}

async function claim(bountyId: bigint): Promise<void> {
  const due = await chain.readContract({ ...hub, functionName: "claimable", args: [bountyId, account.address] });
  if (due === 0n) return;
  const act = claimAct(deployment.hubAddress, account.address, { functionName: "claim", bountyId });
  await send("claim", [bountyId, "0x", "0x"], act);
  console.log(`claimed ${bountyId}`);
}

/** All bounties of a list, page by page: strangers can fill the first one. */
async function listed(query: { tag: string; accepting: true } | { status: "final"; solver_address: string }) {
  const ask = (from: { cursor?: string }) =>
    answerOf(api.GET("/api/bounties", { params: { query: { ...query, ...from, limit: 100 } } }));
  let page = await ask({});
  const all = [...page.items];
  while (page.next_cursor !== null) {
    page = await ask({ cursor: page.next_cursor });
    all.push(...page.items);
  }
  return all;
}

async function claimAll(): Promise<void> {
  for (const { bounty_id, facts } of await listed({ status: "final", solver_address: me })) {
    if (facts.winner?.solver_address === me) await tried(`bounty ${bounty_id}`, claim(BigInt(bounty_id)));
  }
}

async function submitAll(): Promise<void> {
  const open = await listed({ tag, accepting: true });
  const accepting = new Set(open.map(({ bounty_id }) => bounty_id));
  for (const bountyId of kept.keys()) if (!accepting.has(bountyId)) await forget(bountyId);
  for (const { bounty_id } of open) {
    const bountyId = BigInt(bounty_id);
    const doing = async () => ((await hasSubmitted(bountyId)) ? forget(bounty_id) : submit(bountyId));
    await tried(`bounty ${bounty_id}`, doing());
  }
}

/** What failed is looked at again in the next round, and keeps nothing else from being done; a refusal says what to do. */
async function tried(what: string, doing: Promise<void>): Promise<void> {
  try {
    await doing;
  } catch (error) {
    console.error(`${what}:`, said(error));
  }
}

function said(error: unknown): unknown {
  if (error instanceof ServiceError) return `${error.code}: ${error.nextAction}`;
  if (error instanceof BaseError) return error.shortMessage;
  return error instanceof Error ? error.message : error;
}

for (;;) {
  await tried("claims", claimAll());
  await tried("submissions", submitAll());
  await pause(seconds * 1_000);
}
