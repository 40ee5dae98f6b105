/** What the Hub refuses, as who acts on a page reads it: times are dates, amounts tokens, and the next step is here. */

import { decodeErrorResult, type Hex } from "viem";
import { hubAbi, REFUSALS, REFUSED_TIMES, ServiceError } from "../src/acting.js";
import { amount, moment, type Token } from "./text.js";

const RELOAD = "Reload the page to see what the bounty permits now.";

/** Next steps of the shared table that speak to whoever runs a command or writes a page by hand. */
const OTHERWISE: Readonly<Record<string, string>> = {
  "Read the bounty again; its state does not permit this.": RELOAD,
  "Run the command again: it takes the Hub's current values.": "Press the button again: the page then takes the contract's current values.",
  "Change the page's submission_deadline and publish it again.": "Choose another deadline, and publish the page again.",
};

const AMOUNTS_OF = new Set([
  "EscrowNotReceived",
  "EscrowTooLarge",
  "EscrowTooSmall",
  "GuardianFeeAboveMaximum",
  "ProtocolFeeAboveMaximum",
  "TokenTransferFailed",
]);

/** The refusal behind a revert's data; amounts are in smallest units while the token is not known. */
export function refusedBy(data: Hex, token: Token | undefined): ServiceError {
  try {
    const { errorName, args } = decodeErrorResult({ abi: hubAbi, data });
    const entry = hubAbi.find((each) => each.type === "error" && each.name === errorName);
    const given: readonly unknown[] = args ?? [];
    const inputs: readonly { readonly name: string }[] = entry?.inputs ?? [];
    const values = new Map(inputs.map(({ name }, index) => [name, shown(errorName, name, given[index], token)]));
    const [sentence = errorName, nextAction = ""] = REFUSALS[errorName] ?? [];
    const message = sentence.replace(/\{(\w+)\}/g, (_, name: string) => `${values.get(name)}`);
    return new ServiceError("hub_refuses", message, { nextAction: OTHERWISE[nextAction] ?? nextAction });
  } catch {
    const message = "The call would fail, for a reason that the contract does not give.";
    return new ServiceError("hub_refuses", message, { nextAction: RELOAD });
  }
}

/** What a contract refused with, wherever in the error of a wallet or a node it is. */
export function revertData(error: unknown, depth = 0): Hex | undefined {
  if (typeof error === "string") return /^0x([0-9a-f]{2}){4,}$/i.test(error) ? (error as Hex) : undefined;
  if (typeof error !== "object" || error === null || depth > 4) return undefined;
  for (const name of ["data", "raw", "error", "originalError", "cause"]) {
    const found = revertData((error as Record<string, unknown>)[name], depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function shown(error: string, name: string, value: unknown, token: Token | undefined): string {
  if (typeof value !== "bigint") return String(value);
  if (REFUSED_TIMES.has(name)) return moment(value);
  return token !== undefined && AMOUNTS_OF.has(error) ? amount(value, token) : String(value);
}
