// The same program over the types that gql.tada infers from the schema.
import { initGraphQLTada, type ResultOf, type VariablesOf } from "gql.tada";

import type { introspection } from "./graphql-env.js";

const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: { BigInt: string; Integer: number };
}>();

const OPEN = graphql(`
  query Open($award: BigInt!) {
    bounties(where: { status: "open", award_amount_gte: $award }, first: 5) {
      id
      status
      outcome
      award_amount
      judging_deadline
      title
      verdicts {
        kind
      }
    }
    _meta {
      block {
        number
      }
    }
  }
`);

export const asked: VariablesOf<typeof OPEN> = { award: "1000000" };

export function lines(found: ResultOf<typeof OPEN>): string[] {
  return found.bounties.map((bounty) => {
    const status: "open" | "final" = bounty.status;
    const award: bigint = BigInt(bounty.award_amount);
    const left: number = bounty.judging_deadline - found._meta.block.number;
    const title: string = bounty.title ?? "no page";
    const awarded = bounty.verdicts.filter((verdict) => verdict.kind === "awarded").length;
    return `${bounty.id.toUpperCase()} ${status} ${bounty.outcome?.toUpperCase()} ${award} ${left} ${title} ${awarded}`;
  });
}
