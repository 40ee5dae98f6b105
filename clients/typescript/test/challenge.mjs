// What the library reads of a challenge page.
import assert from "node:assert/strict";
import test from "node:test";
import { pageTerms } from "bounty-escrow-client";

const LINES = {
  version: "1",
  title: "A title",
  escrow_amount: "25000000",
  submission_deadline: "1893456000",
  judging_window_seconds: "120",
};
const page = (changes = {}, more = "") => {
  const lines = Object.entries({ ...LINES, ...changes }).filter(([, value]) => value !== null);
  return `---\n${lines.map(([name, value]) => `${name}: ${value}\n`).join("")}${more}---\n# Body\nescrow_amount: 1\n`;
};

test("terms of a page are its frontmatter's", () => {
  const terms = { title: "A title", escrowAmount: 25000000n, submissionDeadline: 1893456000n, judgingWindow: 120n };
  assert.deepEqual(pageTerms(page()), terms);
});

const ALIKE = {
  "a comment behind an escrow": page({ escrow_amount: "25000000 # one tile set" }),
  "values in quotes": page({ escrow_amount: '"25000000"', submission_deadline: "'1893456000'", title: "'A title' # 1" }),
  "a name in quotes": page({ escrow_amount: null }, '"escrow_amount" : 25000000\n'),
};
for (const [name, text] of Object.entries(ALIKE)) {
  test(`terms of a page with ${name} are the same`, () => assert.deepEqual(pageTerms(text), pageTerms(page())));
}

const UNCLEAR = {
  "no frontmatter": "escrow_amount: 1\n",
  "frontmatter that does not end": page().replace("---\n# Body", "# Body"),
  "no escrow": page({ escrow_amount: null }),
  "an escrow twice": page({}, "escrow_amount: 1\n"),
  "an escrow of nothing": page({ escrow_amount: "0" }),
  "an escrow with a sign": page({ escrow_amount: "+25000000" }),
  "an escrow with an exponent": page({ escrow_amount: "1e6" }),
  "an escrow with separators": page({ escrow_amount: "25_000_000" }),
  "an escrow that is a comment": page({ escrow_amount: "# 25000000" }),
  "an escrow with an escape": page({ escrow_amount: '"2500000\\x30"' }),
  "an escrow twice, once with its name in quotes": page({}, '"escrow_amount": 1\n'),
  "an indented escrow": page({ escrow_amount: null }, "other:\n  escrow_amount: 1\n"),
  "no title": page({ title: "" }),
  "carriage returns": page().replaceAll("\n", "\r\n"),
};
for (const [name, text] of Object.entries(UNCLEAR)) {
  test(`terms of a page with ${name} are refused`, () => {
    assert.throws(() => pageTerms(text), { name: "ServiceError", code: "invalid_bounty_challenge" });
  });
}
