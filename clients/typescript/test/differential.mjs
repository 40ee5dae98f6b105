// What this client makes of drawn requests, terms and envelopes: node test/differential.mjs CASES.json prints a list for
// each kind, which the test compares with Python's.
import { readFileSync } from "node:fs";
import { privateKeyToAccount } from "viem/accounts";
import { ServiceError, authorizationNonce, commitmentOf, fundingSalt, guardianRosterHash } from "../dist/index.js";
import { parseEnvelope, recipientsCommitment, signRequest } from "../dist/index.js";

const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
const signer = privateKeyToAccount(cases.key);

async function signed({ method, url, body, number, hash, chainId, hubAddress }) {
  const block = { number: BigInt(number), hash };
  const chain = { getBlock: async (at) => ({ ...block, timestamp: at === undefined ? 6n : 0n }) };
  const request = { method, url, body: Buffer.from(body, "hex") };
  return signRequest(request, { deployment: { chainId, hubAddress }, signer, chain });
}

function hashes({ chainId, hub, poster, terms, version, quorum, accounts, keys, count }) {
  const [specCommitment, expectedRosterHash, escrow, deadline, window, protocol, guardian, salt] = terms;
  const times = { submissionDeadline: BigInt(deadline), judgingWindow: BigInt(window) };
  const fees = { maxProtocolFee: BigInt(protocol), maxGuardianFee: BigInt(guardian) };
  const given = { specCommitment, expectedRosterHash, escrowAmount: BigInt(escrow), ...times, ...fees, salt };
  const roster = { version: BigInt(version), accounts, encryptionKeys: keys, quorum: BigInt(quorum) };
  return [
    authorizationNonce(chainId, hub, poster, given),
    fundingSalt(chainId, hub, poster, specCommitment, BigInt(count)),
    guardianRosterHash(chainId, hub, roster),
    recipientsCommitment(specCommitment, keys),
  ];
}

async function outcome(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.code;
  }
}

const made = { approvals: [], terms: [], envelopes: [] };
for (const each of cases.approvals) made.approvals.push(await outcome(() => signed(each)));
for (const each of cases.terms) made.terms.push(await outcome(() => hashes(each)));
for (const text of cases.envelopes) {
  made.envelopes.push(await outcome(() => void parseEnvelope(Buffer.from(text, "hex")) ?? commitmentOf(Buffer.from(text, "hex"))));
}
console.log(JSON.stringify(made));
