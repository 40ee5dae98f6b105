// Each act as calls for an account, and its events found among those of others.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as client from "bounty-escrow-client";
import { decodeFunctionData, encodeAbiParameters, encodeEventTopics, erc20Abi, getAddress } from "viem";

const hub = `0x${"ab".repeat(20)}`;
const token = `0x${"c0".repeat(20)}`;
const me = `0x${"d1".repeat(20)}`;
const other = `0x${"e2".repeat(20)}`;
const hash = (digit) => `0x${digit.repeat(64)}`;
const deployment = { chainId: 31337, hubAddress: hub };
const terms = {
  specCommitment: hash("1"),
  expectedRosterHash: hash("2"),
  escrowAmount: 25_000_000n,
  submissionDeadline: 2_000_000_000n,
  judgingWindow: 86_400n,
  maxProtocolFee: 1n,
  maxGuardianFee: 1n,
  salt: hash("3"),
};
const nonce = client.authorizationNonce(31337, hub, me, terms);
const asHub = (data) => decodeFunctionData({ abi: client.hubAbi, data });

/** A log as an endpoint shows it. */
function log(eventName, args, address = hub) {
  const event = client.hubAbi.find((each) => each.type === "event" && each.name === eventName);
  const plain = event.inputs.filter((each) => !each.indexed);
  const filled = { ...args };
  for (const { name, type } of plain) {
    filled[name] ??= type === "address" ? other : type.startsWith("uint") ? 0n : hash("0");
  }
  const topics = encodeEventTopics({ abi: client.hubAbi, eventName, args: filled });
  const data = encodeAbiParameters(plain, plain.map(({ name }) => filled[name]));
  return { address, topics, data, blockNumber: 1n, transactionHash: hash("9"), logIndex: 0 };
}

const created = (poster, authorizationNonce) =>
  log("BountyCreated", { bountyId: 7n, poster, specCommitment: hash("1"), authorizationNonce });
const paid = (eventName, who, account, bountyId) => log(eventName, { bountyId, [who]: account, amount: 5n });
const acts = {
  funding: [client.fundingAct(deployment, me, terms, 9n, "0x11"), created(me, nonce), created(other, nonce)],
  allowance: [client.allowanceAct(deployment, token, me, terms), created(me, nonce), created(me, hash("4"))],
  submission: [
    client.submissionAct(hub, 7n, me, hash("5"), hash("2")),
    log("SubmissionRecorded", { bountyId: 7n, solver: me, submissionCommitment: hash("5") }),
    log("SubmissionRecorded", { bountyId: 7n, solver: me, submissionCommitment: hash("6") }),
  ],
  verdict: [
    client.verdictAct(hub, 7n, me, { solver: other, submissionCommitment: hash("5") }, hash("6")),
    log("VerdictRecorded", {
      bountyId: 7n, guardian: me, kind: 1, solver: other, submissionCommitment: hash("5"), reportCommitment: hash("6"),
    }),
    log("VerdictRecorded", { bountyId: 7n, guardian: me, kind: 2, reportCommitment: hash("6"), solver: me }),
  ],
  heartbeat: [
    client.heartbeatAct(hub, me),
    log("GuardianHeartbeat", { guardian: me }),
    log("GuardianHeartbeat", { guardian: other }),
  ],
  settlement: [
    client.settlementAct(hub, 7n),
    log("BountyFinalized", { bountyId: 7n, winner: other }),
    log("BountyFinalized", { bountyId: 8n, winner: other }),
  ],
  award: [
    client.claimAct(hub, me, { functionName: "claim", bountyId: 7n }),
    paid("AwardClaimed", "solver", me, 7n),
    paid("AwardClaimed", "solver", me, 8n),
  ],
  refund: [
    client.claimAct(hub, me, { functionName: "claimRefund", bountyId: 7n }),
    paid("RefundClaimed", "poster", me, 7n),
    paid("AwardClaimed", "solver", me, 7n),
  ],
};

for (const [name, [act, event, neighbour]] of Object.entries(acts)) {
  test(`${name}: its event is found among others', and theirs are not its own`, () => {
    assert.equal(client.actEvents(act, [neighbour, { ...event, address: token }]), undefined);
    const [found] = client.actEvents(act, [neighbour, event, neighbour]);
    assert.equal(found.topics, event.topics);
    assert.ok(act.calls.every(({ value }) => value === 0n));
  });
}

test("the calls are those of the Hub and of its token, in their order", () => {
  const [approve, create] = acts.allowance[0].calls;
  assert.deepEqual([approve.to, create.to], [token, hub]);
  const { functionName, args } = decodeFunctionData({ abi: erc20Abi, data: approve.data });
  assert.deepEqual([functionName, ...args], ["approve", getAddress(hub), 25_000_000n]);
  assert.equal(asHub(create.data).functionName, "createBounty");
  const names = Object.values(acts).map(([act]) => asHub(act.calls.at(-1).data).functionName);
  const wanted = ["createBountyWithAuthorization", "createBounty", "submit", "recordVerdict", "heartbeat", "settle"];
  assert.deepEqual(names, [...wanted, "claim", "claimRefund"]);
});

test("a Verdict that no Submission is valid names none", () => {
  const act = client.verdictAct(hub, 7n, me, undefined, hash("6"));
  const { args } = asHub(act.calls[0].data);
  assert.deepEqual(args, [7n, 2, getAddress(`0x${"0".repeat(40)}`), hash("0"), hash("6")]);
});

test("several claims are one call, done once every amount is paid", () => {
  const parts = [
    { functionName: "claimProtocolFee", bountyId: 3n },
    { functionName: "claimGuardianFee", bountyId: 2n },
  ];
  const act = client.claimsAct(hub, me, parts);
  const [claims] = asHub(act.calls[0].data).args;
  assert.deepEqual(claims, [{ kind: 4, bountyId: 3n }, { kind: 3, bountyId: 2n }]);
  const logs = [paid("GuardianFeeClaimed", "guardian", me, 2n), paid("ProtocolFeeClaimed", "recipient", me, 3n)];
  assert.equal(client.actEvents(act, logs.slice(1)), undefined);
  const names = client.actEvents(act, logs).map((event) => event.eventName);
  assert.deepEqual(names, ["ProtocolFeeClaimed", "GuardianFeeClaimed"]);
});

test("the chain is asked for the Hub's logs of a range", async () => {
  const [act, event] = acts.submission;
  const asked = [];
  const chain = { getLogs: async (question) => (asked.push(question), [event]) };
  const [found] = await client.findActEvents(chain, act, 5n);
  assert.equal(found.args.bountyId, 7n);
  await client.findActEvents(chain, act, 5n, 9n);
  assert.deepEqual(asked, ["latest", 9n].map((toBlock) => ({ address: hub, fromBlock: 5n, toBlock })));
});
