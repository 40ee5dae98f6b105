// viem's verifyTypedData over the same approvals: reads them from a file, prints verifications a second per line read.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { verifyTypedData } from "viem";

const approvals = JSON.parse(readFileSync(process.argv[2], "utf8"));
for await (const seconds of createInterface({ input: process.stdin })) {
  const ends = performance.now() + 1000 * Number(seconds);
  const began = performance.now();
  let done = 0;
  while (performance.now() < ends) {
    if (!(await verifyTypedData(approvals[done % approvals.length]))) throw new Error("not verified");
    done += 1;
  }
  console.log((done * 1000) / (performance.now() - began));
}
