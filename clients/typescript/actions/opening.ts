/**
 * Opening work in this browser: a Guardian with an age identity file that never leaves the page, the Poster with a key
 * made in the page; and a Guardian's delivery of the winning key.
 */

import type { Hex } from "viem";
import { answerOf, commitmentOf, ServiceError } from "../src/acting.js";
import type { Schemas } from "../src/acting.js";
import type { Envelope, Progress } from "../src/opening.js";
import { refuseDifferences, typed } from "./answers.js";
import { following, repeated, requireBucket, signed } from "./api.js";
import { AWARDED, canOpen } from "./bounty.js";
import type { Bounty } from "./bounty.js";
import type { Context } from "./context.js";
import { element, labelled } from "./dom.js";
import { tidied } from "./journal.js";
import { paced } from "./paced.js";
import { told } from "./results.js";
import type { Fact, Offer, Stage } from "./stage.js";
import { listingOf, unlistedNote } from "./submissions.js";
import { bytes, counted, moment, printable } from "./text.js";
import { openedName } from "./verdict.js";
import { finalWinner } from "./witnesses.js";
import type { Recorded } from "./witnesses.js";

const MOST_LISTED = 200;
const INERT =
  "Tools obey some of its names unprompted. In the archive such a part of a path is inert_…_: .git is inert_.git_. " +
  "To restore one, rename it.";
const READING: readonly Fact[] = [["What it does", "downloads a Submission as it was sealed; it is opened in this page"]];
const MOST_KEY_BYTES = 64 * 1024;
const NO_KEY: Hex = `0x${"0".repeat(64)}`;

/** A Submission as the service holds it, checked against the chain. */
export interface Fetched {
  readonly envelope: Envelope;
  readonly downloadUrl: string;
}

/** What the account can open, and deliver. */
export function openingOffers(context: Context, bounty: Bounty): Offer[] {
  const { account } = context;
  const offers: Offer[] = [];
  const isAwarded = bounty.outcome === AWARDED;
  if (canOpen(account, bounty)) {
    offers.push({
      title: "Open a Submission",
      text: "With the file of your encryption keys, which stays in this page. The work is saved as a tar archive.",
      button: "Open work",
      run: (stage) => openAsGuardian(context, stage, bounty),
    });
    if (isAwarded) {
      offers.push({
        title: "Deliver the key of the winning work",
        text: "Seals the key of the winning work to the deployment, which passes it on to the Poster alone. Once is enough.",
        button: "Deliver it",
        run: (stage) => deliver(context, stage, bounty),
      });
    }
  }
  if (isAwarded && account === bounty.poster) {
    offers.push({
      title: "Open the winning work",
      text: "With a key that is made in this page for it and kept nowhere. The work is saved as a tar archive.",
      button: "Open the winning work",
      run: (stage) => openAsPoster(context, stage, bounty),
    });
  }
  return offers;
}

async function openAsGuardian(context: Context, stage: Stage, bounty: Bounty): Promise<void> {
  stage.say("The Submissions are looked up.");
  const listing = await listingOf(context, stage, bounty);
  const { recorded } = listing;
  stage.say("");
  const select = element("select");
  for (const { commitment, solver } of recorded) select.append(element("option", {}, `Submission ${commitment} of ${solver}`));
  const [keyring, named] = await keysOf(stage, [...unlistedNote(listing), labelled("Submission to open", select)], () => {
    const chosen = recorded[select.selectedIndex];
    if (chosen === undefined) throw new ServiceError("nothing_chosen", "Choose one.");
    return chosen;
  });
  await openOne(context, stage, bounty, named, keyring);
}

/** Downloads and opens one Submission, and notes that it was opened here. */
export async function openOne(
  context: Context,
  stage: Stage,
  bounty: Bounty,
  named: Recorded,
  keyring: readonly string[],
): Promise<void> {
  const fetched = await fetchSubmission(context, stage, bounty, named);
  const identity = await contentKey(context, stage, bounty, fetched, keyring);
  await save(stage, bounty, named, fetched, identity, () => context.journal.put(openedName(bounty.id, named), true));
}

async function deliver(context: Context, stage: Stage, bounty: Bounty): Promise<void> {
  const named = await finalWinner(context, stage, bounty);
  const key = await deliveryKey(context, stage);
  const [keyring] = await keysOf(stage, [], () => undefined);
  const request = `POST /api/bounties/${bounty.id}/delivery/wrap`;
  const facts: Fact[] = [
    ["What it does", `lets the Poster ${bounty.poster} open the winning work, and nobody else`],
    ["Sealed to", `the delivery key ${key}, as the chain has it`],
  ];
  const fetched = await fetchSubmission(context, stage, bounty, named, following(request, facts));
  const identity = await contentKey(context, stage, bounty, fetched, keyring);
  const { wrapContentKey } = await import("./work.js");
  const path = { bounty_id: bounty.id.toString() };
  const body = {
    solver_address: named.solver,
    submission_commitment: named.commitment,
    wrapped_key: wrapContentKey(identity, key),
  };
  await signed(
    context,
    stage,
    "Deliver the key of the winning work",
    request,
    facts,
    () => answerOf(context.api.POST("/api/bounties/{bounty_id}/delivery/wrap", { params: { path }, body })),
    true,
  );
  stage.done(
    "The key of the winning work is delivered.",
    element("p", {}, `Next, the Poster ${bounty.poster} can open the work on this page.`),
  );
}

async function openAsPoster(context: Context, stage: Stage, bounty: Bounty): Promise<void> {
  const named = await finalWinner(context, stage, bounty);
  const { generateIdentity, publicKeyOf, unwrapContentKey } = await import("./work.js");
  const fresh = await generateIdentity();
  const own = await publicKeyOf(fresh);
  const path = { bounty_id: bounty.id.toString() };
  const retrieved = await signed(
    context,
    stage,
    "Get the key of the winning work",
    `POST /api/bounties/${bounty.id}/delivery/retrieve`,
    [
      ["What it does", "has the key of the winning work sealed to a key that this page made just now"],
      ["Key of this page", own],
      ...following(contentRequest(bounty, named), READING),
    ],
    () =>
      answerOf(
        context.api.POST("/api/bounties/{bounty_id}/delivery/retrieve", {
          params: { path },
          body: { poster_ephemeral_public_key: own },
        }),
      ),
  );
  refuseDifferences("winner_mismatch", [
    ["solver_address", retrieved.solver_address, named.solver],
    ["submission_commitment", retrieved.submission_commitment, named.commitment],
  ]);
  const fetched = await fetchSubmission(context, stage, bounty, named, [], true);
  const identity = await unwrapContentKey(retrieved.wrapped_key, fresh, fetched.envelope.content_public_key);
  await save(stage, bounty, named, fetched, identity);
}

/** The delivery key in effect on the chain, which the service must serve, too. */
async function deliveryKey({ node, hub, api }: Context, stage: Stage): Promise<Hex> {
  const key = await node.readContract({ ...hub, functionName: "deliveryKey" });
  if (key === NO_KEY) {
    throw new ServiceError("delivery_unavailable", "No delivery key is in effect on the chain.", {
      nextAction: "Try again once the operator has published one.",
    });
  }
  const { delivery_public_key: served } = await repeated(stage, () =>
    typed("DeliveryKey", answerOf(api.GET("/api/deployment/delivery-key"))),
  );
  if (served !== key && served === (await node.readContract({ ...hub, functionName: "deliveryKey" }, "finalized"))) {
    throw new ServiceError("delivery_key_changing", "Another delivery key has just taken effect.", {
      nextAction: "Try again in some minutes, when the service shows it, too.",
    });
  }
  refuseDifferences("delivery_key_mismatch", [["delivery_public_key", served, key]]);
  return key;
}

/** The identities of a file that the person chooses, and what is chosen beside it. */
async function keysOf<Value>(
  stage: Stage,
  fields: readonly HTMLElement[],
  read: () => Value,
): Promise<[string[], Value]> {
  const input = element("input", { type: "file" });
  const hint =
    "Lines that begin with AGE-SECRET-KEY-1, as age-keygen writes them. The file is read here and sent nowhere.";
  stage.say("");
  return stage.ask(
    "Your encryption keys",
    [...fields, labelled("File with your encryption keys", input, hint)],
    "Go on",
    async () => [await keyringOf(input), read()],
  );
}

/** The identities of the file that was chosen; `nothing_chosen` without one. */
export async function keyringOf(input: HTMLInputElement): Promise<string[]> {
  const { identitiesOf } = await import("./work.js");
  const file = input.files?.[0];
  if (file === undefined || file.size > MOST_KEY_BYTES) {
    throw new ServiceError("nothing_chosen", "Choose the file with your encryption keys.");
  }
  return identitiesOf(await file.text());
}

/** Raises unless the envelope is the committed one, sealed for this bounty by this Solver. */
export async function fetchedOf(
  context: Context,
  bounty: Bounty,
  named: Recorded,
  content: Schemas["SubmissionContent"],
): Promise<Fetched> {
  const { envelopeDifferences, parseEnvelope } = await import("./work.js");
  const { beacon } = context.settings;
  if (beacon === undefined) throw noBeacon();
  refuseDifferences("read_model_mismatch", [["envelope", commitmentOf(content.envelope), named.commitment]]);
  const envelope = parseEnvelope(content.envelope);
  const issues = envelopeDifferences(envelope, bounty.pinned, named.solver, beacon);
  if (issues.length > 0) {
    throw new ServiceError("envelope_mismatch", "The Submission was not sealed for this bounty by this Solver.", {
      issues,
      nextAction: "It cannot be judged as work for this bounty.",
    });
  }
  requireBucket(context, content.download_url);
  return { envelope, downloadUrl: content.download_url };
}

function contentRequest(bounty: Bounty, { commitment }: Recorded): string {
  return `GET /api/bounties/${bounty.id}/submissions/${commitment}/content`;
}

/** `next` is what the wallet signs right after it; `isExplained`: this was shown with the request before. */
async function fetchSubmission(
  context: Context,
  stage: Stage,
  bounty: Bounty,
  named: Recorded,
  next: readonly Fact[] = [],
  isExplained = false,
): Promise<Fetched> {
  if (context.settings.beacon === undefined) throw noBeacon();
  const path = { bounty_id: bounty.id.toString(), submission_commitment: named.commitment };
  const content = await signed(
    context,
    stage,
    "Read the sealed work",
    contentRequest(bounty, named),
    [...READING, ...next],
    () =>
      answerOf(
        context.api.GET("/api/bounties/{bounty_id}/submissions/{submission_commitment}/content", { params: { path } }),
      ),
    isExplained,
  );
  return fetchedOf(context, bounty, named, content);
}

export async function contentKey(
  { settings }: Context,
  stage: Stage,
  bounty: Bounty,
  { envelope }: Fetched,
  keyring: readonly string[],
): Promise<string> {
  const { contentKeyOf } = await import("./work.js");
  if (settings.beacon === undefined) throw noBeacon();
  stage.say("The beacon's round is fetched and verified, and the key of the work is opened.");
  return contentKeyOf(envelope, settings.beacon, settings.beaconUrl, keyring, bounty.guardians.length);
}

/** Offers the opened work, and says so where the note that it was opened could not be made. */
export async function save(
  stage: Stage,
  bounty: Bounty,
  named: Recorded,
  { envelope, downloadUrl }: Fetched,
  identity: string,
  note: () => Promise<void> = async () => undefined,
): Promise<void> {
  const { openWork } = await import("./work.js");
  const all = bytes(envelope.ciphertext.byte_length);
  stage.say(`Downloading and opening ${all}.`);
  const onProgress = paced(({ done }: Progress) => stage.say(`Downloading and opening: ${bytes(done)} of ${all}.`));
  const { files, archive, renamed } = await stage.until((signal) =>
    openWork(downloadUrl, identity, envelope, { signal, onProgress }),
  );
  const unnoted = await tidied(note);
  const list = element("ul", { class: "files" });
  for (const { path, size } of files.slice(0, MOST_LISTED)) {
    list.append(element("li", {}, `${printable(path)}, ${bytes(size)}`));
  }
  const name = `bounty-${bounty.id}-${named.commitment.slice(2, 10)}.tar`;
  const link = element("a", { download: name, href: URL.createObjectURL(archive) }, "Save the work");
  const warning = "A stranger made these files. Look at them where they can do no harm, before you run anything.";
  stage.done(
    `Opened: ${counted(files.length, "file")}, sealed by ${named.solver} for this bounty.`,
    element("p", {}, link, `, a tar archive of ${bytes(archive.size)}`),
    element("p", { class: "warning" }, warning),
    ...(renamed > 0 ? [element("p", {}, INERT)] : []),
    list,
    ...told(unnoted),
  );
}

function noBeacon(): ServiceError {
  return new ServiceError("beacon_unavailable", "The beacon is not known at the moment.", {
    nextAction: `Reload the page and try again. It is ${moment(Date.now() / 1_000)} by this machine's clock.`,
  });
}
