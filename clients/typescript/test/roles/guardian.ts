// Judges: work that was sealed for this Guardian is opened with the beacon's signature, which is verified.
import { QUICKNET, envelopeDifferences, openArtifact, openContentKey, verifyBeacon } from "bounty-escrow-client/opening";
import type { Sealed } from "./solver.js";

const FIRST_ROUND = "b55e7cb2d5c613ee0b2e28d6750aabbb78c39dcc96bd9d38c2c2e12198df95571de8e8e402a0cc48871c7089a2b3af4b";

export async function guardian(identity: string, { envelope, bounty, ciphertext }: Sealed): Promise<string> {
  if (!verifyBeacon(1, FIRST_ROUND, QUICKNET)) throw new Error("not the beacon's");
  const differences = envelopeDifferences(envelope, bounty, envelope.solver_address, QUICKNET);
  const keys = { beacon: QUICKNET, signature: FIRST_ROUND, keyring: [identity], rosterSize: 1 };
  const contentKey = await openContentKey(envelope, keys);
  const texts: string[] = [];
  await openArtifact(ciphertext.stream(), contentKey, envelope, async (entry) => {
    const decoder = new TextDecoder();
    for await (const chunk of entry.content) texts.push(decoder.decode(chunk));
  });
  return `${differences.length} ${texts.join("").trim()}`;
}
