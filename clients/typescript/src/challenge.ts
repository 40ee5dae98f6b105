/**
 * The terms in a challenge page's frontmatter. Only the lines that name money and times are read, each a decimal, plain or
 * in quotes, on its own line; the service reads the whole page (docs/poster.md).
 */

import { ServiceError } from "./errors.js";

/** What a page fixes of a bounty: smallest units and seconds. */
export interface PageTerms {
  readonly title: string;
  readonly escrowAmount: bigint;
  readonly submissionDeadline: bigint;
  readonly judgingWindow: bigint;
}

/** The terms of a page; raises `invalid_bounty_challenge`, which names every line that is missing or unclear. */
export function pageTerms(page: string): PageTerms {
  const frontmatter = /^---\n([\s\S]*?\n)---\n/.exec(page)?.[1];
  if (frontmatter === undefined) {
    throw new ServiceError(
      "invalid_bounty_challenge",
      "The page does not begin with frontmatter between two lines of ---.",
      {
        nextAction: "Begin it with a line of three hyphens, the terms each on a line of its own, and three hyphens again.",
      },
    );
  }
  const issues: { path: string; message: string }[] = [];
  const value = (name: string, form: RegExp): string => {
    const lines = [...frontmatter.matchAll(new RegExp(`^(["']?)${name}\\1[ \\t]*:(?:[ \\t]+(.*))?$`, "gm"))];
    const text = scalarOf(lines[0]?.[2]?.trim() ?? "");
    if (lines.length === 1 && form.test(text)) return text;
    issues.push({ path: name, message: lines.length > 1 ? "stands there twice" : "is missing, or not in its form" });
    return "1";
  };
  const number = (name: string) => BigInt(value(name, /^[1-9][0-9]{0,76}$/));
  const terms = {
    title: value("title", /^\S/),
    escrowAmount: number("escrow_amount"),
    submissionDeadline: number("submission_deadline"),
    judgingWindow: number("judging_window_seconds"),
  };
  if (issues.length === 0) return terms;
  throw new ServiceError("invalid_bounty_challenge", "The page's terms cannot be read.", {
    issues,
    nextAction: "Write each as a plain decimal on a line of its own.",
  });
}

/** What YAML makes of a value on one line; one with escapes, or of several lines, is left as it is written. */
function scalarOf(written: string): string {
  const quoted = /^(?:"([^"\\]*)"|'((?:[^']|'')*)')(?:[ \t]+#.*)?$/.exec(written);
  if (quoted !== null) return quoted[1] ?? quoted[2]?.replaceAll("''", "'") ?? "";
  return /^["']/.test(written) ? written : written.replace(/(?:^|[ \t]+)#.*$/, "");
}
