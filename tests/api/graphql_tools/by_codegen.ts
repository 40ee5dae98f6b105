// A program over the types that GraphQL Code Generator made.
import type { BountyStatus, OpenQuery, OpenQueryVariables } from "./generated.js";

export const asked: OpenQueryVariables = { award: "1000000" };

export function lines(found: OpenQuery): string[] {
  return found.bounties.map((bounty) => {
    const status: BountyStatus = bounty.status;
    const award: bigint = BigInt(bounty.award_amount);
    const left: number = bounty.judging_deadline - found._meta.block.number;
    const title: string = bounty.title ?? "no page";
    const awarded = bounty.verdicts.filter((verdict) => verdict.kind === "awarded").length;
    return `${bounty.id.toUpperCase()} ${status} ${bounty.outcome?.toUpperCase()} ${award} ${left} ${title} ${awarded}`;
  });
}
