/**
 * Opening work in this browser: a Guardian with an age identity file that never leaves the page, the Poster with a key
 * made in the page; and a Guardian's delivery of the winning key.
 */

import { zeroHash, type Hex } from "viem";
import { answerOf, commitmentOf, ServiceError } from "../src/acting.js";
import type { Beacon, Envelope, Progress } from "../src/opening.js";
import { refuseDifferences } from "./answers.js";
import { following, requireBucket, signed, type SignedRequest } from "./api.js";
import { AWARDED, type Bounty } from "./bounty.js";
import type { Acting, Context } from "./context.js";
import { element, labelled, paced, pause } from "./dom.js";
import { fileList } from "./files.js";
import type { Fact } from "./stage.js";
import type { Numbered } from "./submissions.js";
import { bytes, counted } from "./text.js";
import type { Offer } from "./view.js";
import { finalWinner, type Recorded } from "./witnesses.js";

const MOST_KEY_BYTES = 64 * 1024;
const DELIVERY_MILLISECONDS = 5_000;
const OPTIONAL_MILLISECONDS = 3_000;

/** A Submission as the service holds it, checked against the chain. */
interface Fetched {
  readonly envelope: Envelope;
  readonly downloadUrl: string;
}

/** Offers what the account can open and deliver; `isDelivered`: whether the Poster can open the winning work, as far as is known. */
export function openingOffers(context: Context, bounty: Bounty, isDelivered: boolean | undefined): Offer[] {
  const { account } = context;
  const isAwarded = bounty.outcome === AWARDED;
  const offers: Offer[] = [];
  if (isAwarded && bounty.guardians.includes(account) && isDelivered !== true) {
    offers.push({
      title: "Deliver the key of the winning work",
      text: "Until a Guardian does, the Poster cannot open the work. The key is sealed to the deployment, which passes it on to the Poster only.",
      button: "Deliver the key",
      run: (acting) => deliver(acting, bounty),
    });
  }
  if (isAwarded && account === bounty.poster) {
    const waits = "No Guardian has delivered its key yet; this page can wait for it.";
    const plain = "This page makes a one-time key for it and keeps the key nowhere. You save the work as a tar archive.";
    offers.push({
      title: "The winning work",
      text: isDelivered === false ? waits : plain,
      button: "Get the work",
      begins: "alone",
      run: (acting) => openAsPoster(acting, bounty),
    });
  }
  return offers;
}

/** Asks whether the key of the winning work is delivered; undefined where nothing is won, or nobody answers at once. */
export async function deliveredOf(context: Context, bounty: Bounty): Promise<boolean | undefined> {
  if (bounty.outcome !== AWARDED) return undefined;
  const signal = AbortSignal.timeout(OPTIONAL_MILLISECONDS);
  return delivery(context, bounty, signal).catch(() => undefined);
}

async function delivery({ api }: Context, bounty: Bounty, signal?: AbortSignal): Promise<boolean> {
  const path = { bounty_id: bounty.id.toString() };
  const query = { submission_commitment: bounty.winningSubmission };
  const route = "/api/bounties/{bounty_id}/delivery/status";
  const asked = api.GET(route, { params: { path, query }, ...(signal && { signal }) });
  return (await answerOf(asked)).exists === true;
}

/** Downloads and opens one Submission, and notes that it was opened here. */
export async function openOne(context: Acting, bounty: Bounty, named: Recorded, keyring: readonly string[]): Promise<void> {
  const fetched = await fetchSubmission(context, bounty, named);
  const identity = await contentKey(context, bounty, fetched, keyring);
  await save(context, bounty, named, fetched, identity);
  await context.journal.put(openedName(bounty.id, named), true).catch(() => undefined); // it is warned of once more
}

/** Names a Submission that was opened in this browser: by its account, too, since commitments are copied. */
function openedName(bountyId: bigint, { solver, commitment }: Recorded): string {
  return `opened ${bountyId} ${solver} ${commitment}`;
}

/** Gives the numbers of those that were opened in this browser. */
export async function openedOf({ journal }: Context, { id }: Bounty, works: readonly Numbered[]): Promise<ReadonlySet<number>> {
  const isOpened = await Promise.all(works.map((each) => journal.get(openedName(id, each))));
  return new Set(works.filter((_, at) => isOpened[at] !== undefined).map(({ number }) => number));
}

async function deliver(context: Acting, bounty: Bounty): Promise<void> {
  const { stage } = context;
  const named = await finalWinner(context, bounty);
  const key = await deliveryKey(context);
  const keys = keyField();
  const keyring = await stage.ask("Your encryption keys", [keys.place], "Continue", () => keys.read());
  const request: SignedRequest = {
    title: "Deliver the key of the winning work",
    name: `POST /api/bounties/${bounty.id}/delivery/wrap`,
    facts: [
      ["What it does", `lets only the Poster ${bounty.poster} open the winning work`],
      ["Sealed to", `the delivery key ${key}, as on chain`],
    ],
  };
  const fetched = await fetchSubmission(context, bounty, named, following(request));
  const identity = await contentKey(context, bounty, fetched, keyring);
  const { wrapContentKey } = await import("./work.js");
  const path = { bounty_id: bounty.id.toString() };
  const wrapped = { wrapped_key: wrapContentKey(identity, key) };
  const body = { solver_address: named.solver, submission_commitment: named.commitment, ...wrapped };
  const send = () => answerOf(context.api.POST("/api/bounties/{bounty_id}/delivery/wrap", { params: { path }, body }));
  await signed(context, request, send, true);
  const next = `Next, the Poster ${bounty.poster} can open the work on this page.`;
  stage.done("The key of the winning work is delivered.", element("p", {}, next));
}

async function openAsPoster(context: Acting, bounty: Bounty): Promise<void> {
  const { stage } = context;
  const named = await finalWinner(context, bounty);
  await stage.until(async (signal) => {
    while (!(await delivery(context, bounty).catch(() => true))) {
      signal.throwIfAborted();
      stage.say("No Guardian has delivered the key of the winning work yet. This page is waiting for it; you can also come back later.");
      await pause(DELIVERY_MILLISECONDS);
    }
  });
  const { generateIdentity, publicKeyOf, unwrapContentKey } = await import("./work.js");
  const fresh = await generateIdentity();
  const own = await publicKeyOf(fresh);
  const path = { bounty_id: bounty.id.toString() };
  const body = { poster_ephemeral_public_key: own };
  const request: SignedRequest = {
    title: "Get the key of the winning work",
    name: `POST /api/bounties/${bounty.id}/delivery/retrieve`,
    facts: [
      ["What it does", "has the key of the winning work sealed to a key that this page has just made"],
      ["Key of this page", own],
      ...following(reading(bounty, named)),
    ],
  };
  const retrieved = await signed(context, request, () =>
    answerOf(context.api.POST("/api/bounties/{bounty_id}/delivery/retrieve", { params: { path }, body })),
  );
  refuseDifferences("winner_mismatch", [
    ["solver_address", retrieved.solver_address, named.solver],
    ["submission_commitment", retrieved.submission_commitment, named.commitment],
  ]);
  const fetched = await fetchSubmission(context, bounty, named, [], true);
  const identity = await unwrapContentKey(retrieved.wrapped_key, fresh, fetched.envelope.content_public_key);
  await save(context, bounty, named, fetched, identity);
}

/** Reads the delivery key in effect on the chain, which the service must serve, too. */
async function deliveryKey({ node, hub, api, stage }: Acting): Promise<Hex> {
  const key = await node.readContract({ ...hub, functionName: "deliveryKey" });
  if (key === zeroHash) {
    throw new ServiceError("delivery_unavailable", "No delivery key is in effect on the chain.", {
      nextAction: "Try again once the operator has published one.",
    });
  }
  const asked = () => answerOf(api.GET("/api/deployment/delivery-key"));
  refuseDifferences("delivery_key_mismatch", [["delivery_public_key", (await stage.until(asked)).delivery_public_key, key]]);
  return key;
}

/** A field for the file with a Guardian's keys, which is read here and sent nowhere. */
export function keyField() {
  const input = element("input", { type: "file" });
  const hint = "Lines that begin with AGE-SECRET-KEY-1, as age-keygen writes them. The file is read in this page and sent nowhere.";
  /** Gives the identities of the file that was chosen; `nothing_chosen` without one. */
  const read = async (): Promise<string[]> => {
    const { identitiesOf } = await import("./work.js");
    const file = input.files?.[0];
    if (file !== undefined && file.size <= MOST_KEY_BYTES) return identitiesOf(await file.text());
    throw new ServiceError("nothing_chosen", "Choose the file with your encryption keys.");
  };
  return { place: labelled("File with your encryption keys", input, hint), read };
}

function reading(bounty: Bounty, { commitment }: Recorded): SignedRequest {
  return {
    title: "Read the sealed work",
    name: `GET /api/bounties/${bounty.id}/submissions/${commitment}/content`,
    facts: [["What it does", "downloads a sealed Submission; it is opened in this page"]],
  };
}

/**
 * Reads sealed work; raises unless its envelope is the committed one, sealed for this bounty by this Solver. `next` is what
 * the wallet signs right after it; `isExplained`: it was shown with the request before.
 */
async function fetchSubmission(
  context: Acting,
  bounty: Bounty,
  named: Recorded,
  next: readonly Fact[] = [],
  isExplained = false,
): Promise<Fetched> {
  const beacon = beaconOf(context);
  const path = { bounty_id: bounty.id.toString(), submission_commitment: named.commitment };
  const route = "/api/bounties/{bounty_id}/submissions/{submission_commitment}/content";
  const send = () => answerOf(context.api.GET(route, { params: { path } }));
  const request = reading(bounty, named);
  const content = await signed(context, { ...request, facts: [...request.facts, ...next] }, send, isExplained);
  const { envelopeDifferences, parseEnvelope } = await import("./work.js");
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

/** Opens the key of sealed work with a Guardian's keys, once its round is out. */
async function contentKey(context: Acting, bounty: Bounty, { envelope }: Fetched, keyring: readonly string[]): Promise<string> {
  const { fetchBeacon, openContentKey } = await import("./work.js");
  const beacon = beaconOf(context);
  context.stage.say("Verifying the beacon's round and opening the key of the work.");
  const signature = await fetchBeacon(envelope.reveal_policy.round, beacon, [`${location.origin}/beacon`]);
  return openContentKey(envelope, { beacon, signature, keyring, rosterSize: bounty.guardians.length });
}

/** Offers the opened work. */
async function save({ stage }: Acting, bounty: Bounty, named: Recorded, fetched: Fetched, identity: string): Promise<void> {
  const { envelope, downloadUrl } = fetched;
  const { openWork } = await import("./work.js");
  const all = bytes(envelope.ciphertext.byte_length);
  stage.say(`Downloading and opening ${all}.`);
  const onProgress = paced(({ done }: Progress) => stage.say(`Downloading and opening: ${bytes(done)} of ${all}.`));
  const { files, archive, renamed } = await stage.until((signal) =>
    openWork(downloadUrl, identity, envelope, { signal, onProgress }),
  );
  const name = `bounty-${bounty.id}-${named.commitment.slice(2, 10)}.tar`;
  const link = element("a", { class: "save", download: name, href: URL.createObjectURL(archive) }, "Save the work");
  const inert = "Tools act on some of its names unasked, so the archive changes them to inert_…_: .git is inert_.git_. To restore a name, rename the file.";
  stage.done(
    `Opened: ${counted(files.length, "file")}, sealed by ${named.solver} for this bounty.`,
    element("p", {}, link, " ", `A tar archive of ${bytes(archive.size)}.`),
    element("p", { class: "warning" }, "A stranger made these files. Inspect them where they can do no harm before you run anything."),
    ...(renamed > 0 ? [element("p", {}, inert)] : []),
    fileList(files),
  );
}

/** Gives the beacon that opens work; refuses while its clock is not known. */
export function beaconOf({ settings }: Context): Beacon {
  if (settings.beacon !== undefined) return settings.beacon;
  throw new ServiceError("beacon_unavailable", "The beacon that opens the work is unavailable at the moment.", {
    nextAction: "Reload the page in a minute and try again.",
  });
}
