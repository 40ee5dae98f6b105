import { createWriteStream, openAsBlob } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Writable } from "node:stream";
import { actEvents, answerOf, createApi, hubAbi, readBounty, sealSubmission, submissionAct, uploadCiphertext } from "bounty-escrow-client";
import { createPublicClient, createWalletClient, http } from "viem";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import "./refused.js";
import { apiUrl, beacon, deployment, rpcUrl } from "./settings.js";

const [bountyId = "", ...files] = process.argv.slice(2);
const signer = privateKeyToAccount(process.env.SERVICE_SOLVER_PRIVATE_KEY as Hex);
const chain = createPublicClient({ transport: http(rpcUrl) });
const api = createApi(apiUrl, { deployment, signer, chain });

// What the Hub pins decides for whom the files are sealed, and until when.
const bounty = await readBounty(chain, deployment, BigInt(bountyId));
const entries = await Promise.all(files.map(async (file) => ({ path: basename(file), content: await openAsBlob(file) })));
const sealedFile = join(await mkdtemp(join(tmpdir(), "sealed-")), "artifact.age");
const sink = Writable.toWeb(createWriteStream(sealedFile, { mode: 0o600 }));
const sealed = await sealSubmission(entries, { bounty, solverAddress: signer.address, beacon }, sink);

// The service stores the ciphertext and checks the envelope; what it returns must be what was derived here.
const { ciphertext } = sealed.envelope;
const path = { bounty_id: bountyId, solver_address: sealed.envelope.solver_address };
const target = await answerOf(
  api.POST("/api/bounties/{bounty_id}/submissions/{solver_address}/artifact-upload-url", {
    params: { path },
    body: { ciphertext_sha256: ciphertext.sha256, ciphertext_byte_length: ciphertext.byte_length },
  }),
);
if (target.storage_locator !== ciphertext.storage_locator) throw new Error("the API names another storage locator");
await uploadCiphertext(target, await openAsBlob(sealedFile));
const prepared = await answerOf(
  api.POST("/api/bounties/{bounty_id}/submissions/{solver_address}/prepare", { params: { path }, body: sealed.envelope }),
);
if (prepared.submission_commitment !== sealed.commitment) throw new Error("the API derives another commitment");

// The transaction is encoded from local values; the prepared one is not needed.
const wallet = createWalletClient({ account: signer, transport: http(rpcUrl) });
const hash = await wallet.writeContract({
  chain: null,
  address: deployment.hubAddress,
  abi: hubAbi,
  functionName: "submit",
  args: [BigInt(bountyId), sealed.commitment, bounty.guardianRosterHash],
});
const { logs, transactionHash } = await chain.waitForTransactionReceipt({ hash });
// Its own, or that of a transaction which took its place: the event shows whether the Submission is recorded.
const act = submissionAct(deployment.hubAddress, BigInt(bountyId), signer.address, sealed.commitment, bounty.guardianRosterHash);
if (actEvents(act, logs) === undefined) throw new Error(`the transaction ${transactionHash} recorded no Submission`);
console.log(sealed.commitment);
