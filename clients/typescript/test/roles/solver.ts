// Submits: files are sealed for a roster until a moment that is over, and the transaction is encoded.
import { hubCall } from "bounty-escrow-client/acting";
import { QUICKNET, sealSubmission } from "bounty-escrow-client/sealing";
import type { PinnedBounty, SealedSubmission } from "bounty-escrow-client/sealing";

export interface Sealed extends SealedSubmission {
  readonly bounty: PinnedBounty;
  readonly ciphertext: Blob;
}

export async function sealFor(encryptionKeys: PinnedBounty["encryptionKeys"]): Promise<Sealed> {
  const bounty: PinnedBounty = {
    chainId: 8453,
    hubAddress: "0x00000000000000000000000000000000000000aa",
    bountyId: "7",
    specCommitment: `0x${"22".repeat(32)}`,
    guardianRosterHash: `0x${"11".repeat(32)}`,
    encryptionKeys,
    revealAt: QUICKNET.genesisTime, // its first round
  };
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const sink = new WritableStream<Uint8Array>({ write: (piece) => void pieces.push(new Uint8Array(piece)) });
  const solverAddress = "0x00000000000000000000000000000000000000bb";
  const files = [{ path: "work/answer.txt", content: new Blob(["42\n"]) }];
  const sealed = await sealSubmission(files, { bounty, solverAddress, beacon: QUICKNET }, sink);
  return { ...sealed, bounty, ciphertext: new Blob(pieces) };
}

export async function solver(encryptionKeys: PinnedBounty["encryptionKeys"]): Promise<string> {
  const { bounty, commitment, ciphertext, envelope } = await sealFor(encryptionKeys);
  const { data } = hubCall(bounty.hubAddress, "submit", [7n, commitment, bounty.guardianRosterHash]);
  return `${ciphertext.size === envelope.ciphertext.byte_length} ${data.length}`;
}
