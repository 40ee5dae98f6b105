/**
 * A Solver's Submission: files sealed in this browser, uploaded, prepared, and recorded on the chain. Sealed bytes are
 * stored in the browser until they are recorded; the content identity is kept nowhere, so that nobody but the Guardians
 * can open them.
 */

import { zeroHash, type Hex } from "viem";
import { answerOf, commitmentOf, hubCall, likelySecrets, pageTerms, ServiceError, submissionAct, uploadCiphertext } from "../src/acting.js";
import type { Progress, Schemas } from "../src/acting.js";
import type { Envelope } from "../src/opening.js";
import { refuseDifferences } from "./answers.js";
import { detailOf, following, requireBucket, signed, type SignedRequest } from "./api.js";
import type { Bounty } from "./bounty.js";
import type { Acting, Context } from "./context.js";
import { element, labelled, paced } from "./dom.js";
import { directoryField, fileList, type ChosenFile } from "./files.js";
import { beaconOf } from "./opening.js";
import { removeOthers, requireFiles, sealInWorker, storedAt } from "./sealing.js";
import type { Fact } from "./stage.js";
import { bytes, counted, moment, printable, short } from "./text.js";
import { carryOut } from "./transactions.js";
import type { Offer } from "./view.js";
import { activeOf, requireSealable, requireSealed } from "./witnesses.js";

/** What was sealed; its ciphertext is stored under the name of `file`. */
interface Sealed {
  readonly envelope: string;
  readonly commitment: Hex;
  readonly file: string;
  /** Whether it was uploaded and checked. */
  readonly uploaded?: boolean;
}

/** Offered to everyone but the Poster and the Guardians while the bounty accepts Submissions. */
export function submitOffers(context: Context, bounty: Bounty): Offer[] {
  const { isOpen, now, submissionDeadline, poster, guardians, submission } = bounty;
  const { account } = context;
  if (!isOpen || now >= submissionDeadline) {
    void forget(context, bounty).catch(() => undefined); // nothing can be recorded any more
    return [];
  }
  if (account === poster || guardians.includes(account)) return [];
  const isAgain = submission !== zeroHash;
  return [
    {
      title: "Submit work",
      text: isAgain
        ? `Your Submission ${short(submission)} is recorded. You can replace it until ${moment(submissionDeadline)}.`
        : `Until ${moment(submissionDeadline)}. The files are sealed in this browser; only the Guardians can open them, from ${moment(bounty.revealAt)} on, and the Poster if the work wins.`,
      button: "Submit work",
      begins: isAgain ? "again" : "alone",
      run: (acting) => acting.journal.alone(`submit ${bounty.id}`, () => submit(acting, bounty)),
    },
  ];
}

async function submit(context: Acting, bounty: Bounty): Promise<void> {
  const { node, account, settings, journal } = context;
  const { hubAddress } = settings.deployment;
  const placeholder = hubCall(hubAddress, "submit", [bounty.id, `0x${"01".repeat(32)}`, bounty.guardianRosterHash]);
  await node.simulate(account, placeholder); // refused before anything is sealed
  await requireFiles();
  requireSameTerms(await detailOf(context, bounty), bounty);
  await requireSealable(context, bounty);
  let work = (await keptOf(context, bounty)) ?? (await seal(context, bounty, await chosen(context, bounty)));
  const { parseEnvelope } = await import("./work.js");
  const envelope = parseEnvelope(work.envelope);
  const { commitment } = work;
  await carryOut(context, {
    act: submissionAct(hubAddress, bounty.id, account, commitment, bounty.guardianRosterHash),
    name: `submit ${bounty.id} ${commitment}`,
    title: "Record the Submission on the chain",
    facts: [
      ["What it does", `records this work as your Submission to bounty ${bounty.id}; no money moves`],
      ["Commitment of the work", commitment],
      ["Can be opened by", `the ${bounty.guardians.length} Guardians of roster ${bounty.guardianRosterHash}`],
      ["From", moment(bounty.revealAt)],
    ],
    // Also where it was checked and sent before: the service may have lost it since, and nobody could open it.
    ready: async () => {
      await uploadAndPrepare(context, envelope, work);
      work = { ...work, uploaded: true };
      await journal.put(keptName(bounty), work);
      const former = await activeOf(context, bounty.id, account);
      if (former === zeroHash || former === commitment) return [];
      return [["What it replaces", `your Submission ${former}`, "warning"]];
    },
    holds: async () => (await activeOf(context, bounty.id, account)) === commitment,
    async result() {
      const copy = await copyOf(work, bounty);
      await forget(context, bounty).catch(() => undefined); // the next visit finds it recorded
      const next =
        `It is final in about a quarter of an hour. You can replace it until ${moment(bounty.submissionDeadline)}. From ${moment(bounty.revealAt)} the Guardians open it; they decide by ${moment(bounty.judgingDeadline)}. If it wins, claim the award on this page.`;
      return ["Your Submission is recorded.", next, ...copy];
    },
  });
}

/** Refuses a bounty whose page does not hash to the commitment, or states other terms: anyone can fund any page. */
function requireSameTerms(detail: Schemas["BountyDetail"], bounty: Bounty): void {
  const page = detail.challenge;
  if (typeof page !== "string" || commitmentOf(page) !== bounty.pinned.specCommitment) {
    const message = detail.withheld
      ? `The operator of this service withholds the page: ${detail.withheld.reason}`
      : "The service has no page that hashes to the bounty's commitment.";
    const nextAction = "Ask the Poster for the page's bytes before you work for this bounty.";
    throw new ServiceError("challenge_terms_mismatch", message, { nextAction });
  }
  const terms = pageTerms(page);
  refuseDifferences("challenge_terms_mismatch", [
    ["escrow_amount", String(terms.escrowAmount), String(bounty.escrowAmount)],
    ["submission_deadline", String(terms.submissionDeadline), String(bounty.submissionDeadline)],
    ["judging_window_seconds", String(terms.judgingWindow), String(bounty.judgingDeadline - bounty.revealAt)],
  ]);
}

/** Makes a link that saves what was sealed, while the browser holds it. */
async function copyOf({ commitment, envelope, file }: Sealed, bounty: Bounty): Promise<HTMLElement[]> {
  const ciphertext = await storedAt(file);
  if (ciphertext === undefined) return [];
  const folder = `submission-${bounty.id}-${commitment.slice(2, 10)}`;
  const files = [
    { path: `${folder}/envelope.json`, content: new Blob([envelope]) },
    { path: `${folder}/ciphertext.age`, content: ciphertext },
  ];
  const { archiveStream } = await import("./work.js");
  const archive = await new Response(archiveStream(files)).blob();
  const link = element("a", { class: "save", download: `${folder}.tar`, href: URL.createObjectURL(archive) }, "Save the sealed copy");
  const why = `${bytes(archive.size)}, before you leave this page. The service has the only other copy: if it loses the work, give the Guardians this one. Only they can open it.`;
  return [element("p", {}, link, " ", why)];
}

/** Removes what was sealed, once it is recorded or nothing can be recorded any more. */
async function forget(context: Context, bounty: Bounty): Promise<void> {
  await context.journal.remove(keptName(bounty));
  await removeOthers(sealedNames(context, bounty), "");
}

function keptName({ id }: Bounty): string {
  return `sealed ${id}`;
}

/** What an earlier visit sealed, if the person wants to go on with it and its bytes are still there. */
async function keptOf(context: Acting, bounty: Bounty): Promise<Sealed | undefined> {
  const { stage } = context;
  const kept = await context.journal.get<Sealed>(keptName(bounty));
  if (kept === undefined || (await storedAt(kept.file)) === undefined) return undefined;
  const { envelopeDifferences, parseEnvelope } = await import("./work.js");
  const differences = envelopeDifferences(parseEnvelope(kept.envelope), bounty.pinned, context.account, beaconOf(context));
  if (differences.length > 0) return undefined; // sealed under other terms than are vouched for now
  const goOn = "Continue with it";
  const came = kept.uploaded === true ? "uploaded and checked" : "sealed in this browser";
  const facts: Fact[] = [["Commitment", kept.commitment], ["How far it came", came]];
  const pressed = await stage.confirm("Work that was sealed before", facts, [goOn, "Seal other files"]);
  return pressed === goOn ? kept : undefined;
}

/** Has files chosen; what will be sealed, and whose word it rests on, is shown as they are. */
async function chosen({ settings, stage }: Acting, bounty: Bounty): Promise<readonly ChosenFile[]> {
  const agreed = element("input", { type: "checkbox" });
  const shown = element("div");
  let looked: Promise<readonly string[]> = Promise.resolve([]);
  const field = directoryField(async (files) => {
    agreed.checked = false;
    const look = (looked = likelySecrets(files));
    const secrets = await look.catch(() => undefined); // what cannot be read is refused with the rest, below
    if (secrets === undefined || look !== looked) return; // others were chosen meanwhile
    const sized = files.map(({ path, content }) => ({ path, size: content.size }));
    const names = secrets.slice(0, 10).map((path) => printable(path));
    const warning = `These files look like secrets, and the Guardians and the Poster would read them: ${names.join(", ")}.`;
    const warned = [element("p", { class: "warning" }, warning), labelled("Seal these, too", agreed)];
    const total = `${counted(files.length, "file")}, ${bytes(sized.reduce((sum, { size }) => sum + size, 0))}:`;
    shown.replaceChildren(element("h3", {}, "What will be sealed"), element("p", {}, total), fileList(sized), ...(secrets.length > 0 ? warned : []));
  });
  const api = new URL(settings.apiUrl).host;
  const whose =
    `It is sealed until ${moment(bounty.revealAt)}. This page trusts the wallet's node and ${api} for the Guardians' keys and this time: one operator of both could read the work early.`;
  const fields = [field.place, shown, element("p", { class: "muted" }, whose)];
  return stage.ask("Choose the work", fields, "Seal it", async () => {
    const files = field.files();
    if ((await looked).length === 0 || agreed.checked) return files;
    throw new ServiceError("secrets_not_confirmed", "Files that look like secrets would be sealed with the rest.", {
      nextAction: "Remove them from the directory and choose again, or tick the box.",
    });
  });
}

/** Seals files, and keeps what was sealed in the place of what was before. */
async function seal(context: Acting, bounty: Bounty, files: readonly ChosenFile[]): Promise<Sealed> {
  const { stage } = context;
  const file = `${sealedNames(context, bounty)}${crypto.randomUUID()}`;
  const sealFor = { bounty: bounty.pinned, solverAddress: context.account, beacon: beaconOf(context) };
  const total = bytes(files.reduce((sum, { content }) => sum + content.size, 0));
  const onWritten = (written: number) => stage.say(`Sealing: ${bytes(written)} of about ${total}.`);
  const made = await stage.until((signal) => sealInWorker({ files, sealFor, target: file }, onWritten, signal));
  const sealed = { envelope: new TextDecoder().decode(made), commitment: commitmentOf(made), file };
  await context.journal.put(keptName(bounty), sealed);
  await removeOthers(sealedNames(context, bounty), file);
  return sealed;
}

/** How the names of an account's sealed files for one bounty begin. */
function sealedNames({ settings, account }: Context, { id }: Bounty): string {
  const { chainId, hubAddress } = settings.deployment;
  return `sealed-${chainId}-${hubAddress.toLowerCase()}-${id}-${account}-`;
}

/** Has the upload checked; what the storage does not hold, or not any more, is uploaded before. */
async function uploadAndPrepare(context: Acting, envelope: Envelope, work: Sealed): Promise<void> {
  for (let isThere = work.uploaded === true; ; isThere = false) {
    if (!isThere) await upload(context, envelope, work);
    await requireSealed(context, envelope.reveal_policy.reveal_at);
    try {
      return await prepare(context, envelope, work.commitment, !isThere);
    } catch (error) {
      const isMissing = error instanceof ServiceError && error.issues.some(({ path }) => path === "ciphertext");
      if (!isThere || !isMissing) throw error;
    }
  }
}

/** Uploads sealed bytes to the place that is theirs, once the Solver has signed for it; the storage may hold them already. */
async function upload(context: Acting, envelope: Envelope, { commitment, file: name }: Sealed): Promise<void> {
  const { stage } = context;
  const file = await storedAt(name);
  if (file === undefined) {
    throw new ServiceError("sealed_bytes_missing", "The browser no longer holds the sealed bytes.", {
      nextAction: "Start again with the files.",
    });
  }
  const { ciphertext, bounty_id, solver_address } = envelope;
  const route = "/api/bounties/{bounty_id}/submissions/{solver_address}/artifact-upload-url";
  const body = { ciphertext_sha256: ciphertext.sha256, ciphertext_byte_length: ciphertext.byte_length };
  const path = { bounty_id, solver_address };
  const request: SignedRequest = {
    title: "Get an address for the upload",
    name: `POST /api/bounties/${bounty_id}/submissions/${solver_address}/artifact-upload-url`,
    facts: [
      ["What it does", `lets this browser upload ${bytes(ciphertext.byte_length)} of sealed bytes, once`],
      ...following(preparation(envelope, commitment)),
    ],
  };
  const target = await signed(context, request, () => answerOf(context.api.POST(route, { params: { path }, body })));
  refuseDifferences("locator_mismatch", [["storage_locator", target.storage_locator, ciphertext.storage_locator]]);
  requireBucket(context, target.upload_url);
  const onProgress = paced(({ done }: Progress) => stage.say(`Uploading: ${bytes(done)} of ${bytes(file.size)}.`));
  stage.say(`Uploading ${bytes(file.size)}.`);
  await stage
    .until((signal) => uploadCiphertext(target, file, { signal, onProgress }))
    .catch((error: unknown) => {
      const isThere = error instanceof ServiceError && error.status === 412; // create-only: it holds the bytes already
      if (!isThere) throw error;
    });
}

function preparation({ bounty_id, solver_address }: Envelope, commitment: Hex): SignedRequest {
  return {
    title: "Have the upload checked",
    name: `POST /api/bounties/${bounty_id}/submissions/${solver_address}/prepare`,
    facts: [
      ["What it does", "stores the envelope of your work, whose commitment you record on the chain next"],
      ["Commitment of the work", commitment],
    ],
  };
}

async function prepare(context: Acting, envelope: Envelope, commitment: Hex, isExplained: boolean): Promise<void> {
  const { bounty_id, solver_address } = envelope;
  const path = { bounty_id, solver_address };
  const route = "/api/bounties/{bounty_id}/submissions/{solver_address}/prepare";
  const send = () => answerOf(context.api.POST(route, { params: { path }, body: envelope }));
  const answer = await signed(context, preparation(envelope, commitment), send, isExplained);
  const { hubAddress } = context.settings.deployment;
  const roster = envelope.guardian_roster_hash;
  const { to, data } = hubCall(hubAddress, "submit", [BigInt(bounty_id), commitment, roster]);
  refuseDifferences("preparation_mismatch", [
    ["submission_commitment", answer.submission_commitment, commitment],
    ["guardian_roster_hash", answer.guardian_roster_hash, roster],
    ["transaction.to", answer.transaction.to, to.toLowerCase()],
    ["transaction.data", answer.transaction.data, data],
    ["transaction.value", answer.transaction.value, "0"],
  ]);
}
