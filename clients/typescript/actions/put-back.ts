/**
 * Sealed work that the storage lost, uploaded again from a kept copy: exactly the bytes that the Submission's commitment on
 * the chain fixes. Anyone can check a copy; only the Solver's signature has it uploaded.
 */

import type { Address, Hex } from "viem";
import { commitmentOf, ServiceError } from "../src/acting.js";
import type { ArtifactFile, Envelope } from "../src/opening.js";
import type { Bounty } from "./bounty.js";
import type { Context } from "./context.js";
import { filesIn } from "./copies.js";
import type { CopiedFile } from "./copies.js";
import { element } from "./dom.js";
import { DirectoryField } from "./files.js";
import { paced } from "./paced.js";
import type { LostWork } from "./settings.js";
import type { Offer, Stage } from "./stage.js";
import { heldCopy, heldCopyLink, NO_SUBMISSION, uploadSealed } from "./submit.js";
import { bytes, moment, printable } from "./text.js";
import { activeOf } from "./witnesses.js";

const MAX_ENVELOPE_BYTES = 64 * 1024;
/** Small files among those that were chosen that are looked at as envelopes. */
const MOST_ENVELOPES = 1_000;
const SOURCES =
  "Choose the sealed copy that was saved here, the folder with the envelope.json and ciphertext.age of that Submission, or a " +
  "directory of service-cli keep.";
const ARCHIVE = /\.tar$/i;

/** A kept copy that is exactly what a Submission on the chain commits to. */
interface KeptCopy {
  readonly solver: Address;
  readonly commitment: Hex;
  readonly envelope: Envelope;
  readonly ciphertext: Blob;
}

/** Offered to everyone where the page states that work is lost: to its Solver to put it back, to others to check a copy. */
export function putBackOffers(context: Context, bounty: Bounty): Offer[] {
  const lost = context.settings.bounty?.lost ?? [];
  const own = lost.filter(({ solver_address }) => solver_address === context.account);
  if (lost.length === 0) return [];
  const isOwn = own.length > 0;
  return [
    {
      title: isOwn ? "Put your lost work back" : "Check a kept copy of lost work",
      text: isOwn
        ? "The service lost the sealed bytes of your Submission, so that no Guardian can open it. Choose the copy that you kept, unless this browser holds it: " +
          "it is checked in this browser, and uploaded after your signature. No transaction is needed."
        : "The service lost sealed work of this bounty. A copy is checked in this browser, and goes nowhere: only its Solver can " +
          "put it back.",
      button: "Choose the kept copy",
      run: (stage) => putBack(context, stage, bounty, isOwn ? own : lost),
    },
  ];
}

async function putBack(context: Context, stage: Stage, bounty: Bounty, lost: readonly LostWork[]): Promise<void> {
  stage.say("What the chain has recorded is looked up.");
  const recorded = await recordedOf(context, bounty, lost);
  const held = await heldCopy(context, bounty)
    .then((files) => checked(stage, files, recorded))
    .catch(() => undefined);
  stage.say("");
  const copy = held ?? (await chosen(stage, recorded));
  const { solver, commitment, envelope, ciphertext } = copy;
  const what = `These are the sealed bytes of Submission ${commitment}`;
  if (solver !== context.account) {
    const next = `Pass them on to its Solver ${solver}, who alone can put them back here, or to a Guardian: guardian:open --from.`;
    return stage.done(`${what}, exactly.`, element("p", {}, next));
  }
  const isTaken = await uploadSealed(context, stage, envelope, ciphertext, [["Submission", commitment]]);
  const next =
    "The service hashes them within about an hour; then the mark on this page goes. The Guardians decide by " +
    `${moment(bounty.judgingDeadline)}. Keep your copy until then.`;
  const saving = held === undefined ? [] : await heldCopyLink(context, bounty); // nobody has saved what no page saw recorded
  stage.done(`${what}, and ${isTaken ? "they are uploaded" : "the storage holds them already"}.`, element("p", {}, next), ...saving);
}

/** The copy that the person chooses. */
function chosen(stage: Stage, recorded: ReadonlyMap<Hex, Address>): Promise<KeptCopy> {
  const field = new DirectoryField("Directory with the kept copy");
  return stage.ask("The kept copy", [field.place], "Check it", async () => {
    try {
      return await checked(stage, await field.files(), recorded);
    } finally {
      stage.say("");
    }
  });
}

/** Those of the lost Submissions that the wallet's node has as recorded: `submission_not_recorded` without any. */
async function recordedOf(context: Context, { id }: Bounty, lost: readonly LostWork[]): Promise<ReadonlyMap<Hex, Address>> {
  const recorded = new Map<Hex, Address>();
  for (const { solver_address } of lost) {
    const commitment = await activeOf(context, id, solver_address); // the chain decides which, not the page
    if (commitment !== NO_SUBMISSION) recorded.set(commitment, solver_address);
  }
  if (recorded.size > 0) return recorded;
  throw new ServiceError("submission_not_recorded", "The chain has no Submission there, so there is nothing to put back.", {
    nextAction: "Reload the page. If it still marks the work as lost, report it to the operator.",
  });
}

/** The copy among the files; `envelope_mismatch` or `storage_mismatch` where there is none that is right to the byte. */
async function checked(
  stage: Stage,
  files: readonly ArtifactFile[],
  recorded: ReadonlyMap<Hex, Address>,
): Promise<KeptCopy> {
  const plain = files.flatMap(({ path, content }) => (content instanceof Blob ? [{ path, content }] : []));
  const archived = await Promise.all(plain.filter(({ path }) => ARCHIVE.test(path)).map(filesIn));
  const all = [...plain, ...archived.flat()];
  const small = all.filter(({ content }) => content.size <= MAX_ENVELOPE_BYTES);
  for (const { path, content } of small.slice(0, MOST_ENVELOPES)) {
    const data = new Uint8Array(await content.arrayBuffer());
    const commitment = commitmentOf(data);
    const solver = recorded.get(commitment);
    if (solver === undefined) continue;
    const { parseEnvelope } = await import("./work.js");
    const envelope = parseEnvelope(data);
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    const near = all.filter((each) => each.path !== path && each.path.startsWith(folder));
    return { solver, commitment, envelope, ciphertext: await ciphertextOf(stage, envelope, near, commitment) };
  }
  const wanted = [...recorded.keys()].slice(0, 3).join(", ");
  throw new ServiceError("envelope_mismatch", `None of these files is the envelope of the recorded Submission ${wanted}.`, {
    nextAction: SOURCES,
  });
}

/** The file of the length and digest that the envelope has; nothing else is hashed. */
async function ciphertextOf(
  stage: Stage,
  { ciphertext }: Envelope,
  files: readonly CopiedFile[],
  commitment: Hex,
): Promise<Blob> {
  const { sha256Of } = await import("./work.js");
  const show = paced((done: number) => stage.say(`Checking: ${bytes(done)} of ${bytes(ciphertext.byte_length)}.`));
  const long = files.filter(({ content }) => content.size === ciphertext.byte_length);
  for (const { content } of long) {
    if ((await sha256Of(content, show)) === ciphertext.sha256) return content;
  }
  const [first] = long;
  const why =
    first === undefined
      ? `none of the files beside its envelope has its ${ciphertext.byte_length.toLocaleString("en")} bytes`
      : `${printable(first.path)} has its length, and other bytes`;
  throw new ServiceError("storage_mismatch", `This is not the sealed work of Submission ${commitment}: ${why}.`, {
    nextAction: `Nothing was uploaded. ${SOURCES}`,
  });
}
