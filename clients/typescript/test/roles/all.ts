// What every role does, in one line, so that a page, a server and a shell can show it.
import { generateIdentity, publicKeyOf } from "bounty-escrow-client";
import { guardian } from "./guardian.js";
import { poster } from "./poster.js";
import { reader } from "./reader.js";
import { sealFor, solver } from "./solver.js";

export async function all(): Promise<string> {
  const identity = await generateIdentity();
  const keys = [await publicKeyOf(identity)];
  const sealed = await sealFor(keys);
  return [await reader(), await poster(), await solver(keys), await guardian(identity, sealed)].join(" | ");
}
