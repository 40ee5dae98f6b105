// What a program does with the types of the published document; it only has to compile.
import type { components, operations } from "../../dist/generated/openapi.js";
import { answerOf, createApi } from "../../dist/index.js";

type Detail = components["schemas"]["BountyDetail"];
type Wrap = operations["post_api_bounties_bounty_id_delivery_wrap"];
type List = operations["get_api_bounties"];

export const query: List["parameters"]["query"] = { limit: 5, status: "open", accepting: true };
export const wait: List["responses"][503]["headers"]["Retry-After"] = 3;
export const path: operations["get_api_bounties_bounty_id"]["parameters"]["path"] = { bounty_id: "1" };
export const body: Wrap["requestBody"]["content"]["application/json"] = {
  solver_address: "0x",
  submission_commitment: "0x",
  wrapped_key: "A",
};

export function ending(detail: Detail): string | null {
  const record = detail.verification_record;
  return record ? record.amounts.map((due) => `${due.recipient} ${due.amount}`).join() : detail.facts.outcome;
}

export async function lists(): Promise<readonly string[]> {
  const api = createApi("https://bounties.example");
  const found = await answerOf(api.GET("/api/bounties", { params: { query: { accepting: true } } }));
  const ids: string[] = [];
  for (const item of found.items) ids.push(item.bounty_id);
  const params = { path: { bounty_id: "7" } };
  const { active_submissions } = await answerOf(api.GET("/api/bounties/{bounty_id}", { params }));
  const [first, ...others] = active_submissions.map((each) => each.solver_address);
  const changes = await answerOf(api.GET("/api/changes", { params: { query: { after: 0 } } }));
  return [...ids, ...(first === undefined ? [] : [first]), ...others, ...changes.items.map((each) => each.kind)];
}

// @ts-expect-error an amount is no number
export const amount: components["schemas"]["Amount"] = 5;
// @ts-expect-error an open bounty's outcome is null
export const outcome: components["schemas"]["Outcome"] = null;
