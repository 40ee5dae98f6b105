import { readFile } from "node:fs/promises";
import { AUTHORIZATION_SECONDS, FUNDED_QUERY, MOST_LISTED, answerOf, commitmentOf, createApi } from "bounty-escrow-client";
import { actEvents, findActEvents, fundingAct, fundingSalt, fundingTypedData, hourBegins } from "bounty-escrow-client";
import { hubAbi, pageTerms } from "bounty-escrow-client";
import type { Terms } from "bounty-escrow-client";
import { createPublicClient, createWalletClient, erc20Abi, http, parseAbi } from "viem";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import "./refused.js";
import { apiUrl, deployment, rpcUrl } from "./settings.js";

const [file = ""] = process.argv.slice(2);
const page = await readFile(file, "utf8");
const poster = privateKeyToAccount(process.env.SERVICE_POSTER_PRIVATE_KEY as Hex);
const chain = createPublicClient({ transport: http(rpcUrl) });
const api = createApi(apiUrl, { deployment, signer: poster, chain });
const hub = { address: deployment.hubAddress, abi: hubAbi } as const;

const { escrowAmount, submissionDeadline, judgingWindow } = pageTerms(page);
const specCommitment = commitmentOf(page);
const account = poster.address.toLowerCase();
const variables = { poster: account, page: specCommitment, first: MOST_LISTED };
const { data } = await answerOf(api.POST("/subgraph", { body: { query: FUNDED_QUERY, variables } }));
const [funded] = (data as { bounties: { bounty_id: string }[] }).bounties;
if (funded !== undefined) throw new Error(`bounty ${funded.bounty_id} is on this page already`);
const published = await answerOf(
  api.POST("/api/bounty-challenge-specs/prepare-publication", {
    params: { query: { poster_address: account } },
    body: page,
    headers: { "Content-Type": "text/markdown" },
  }),
);
if (published.spec_commitment !== specCommitment) throw new Error("the API stored another page");

const { timestamp } = await chain.getBlock();
const now = hourBegins(timestamp, BigInt(Math.floor(Date.now() / 1_000))); // else its end is the endpoint's choice
const rosterVersion = await chain.readContract({ ...hub, functionName: "currentRosterVersion" });
const roster = await chain.readContract({ ...hub, functionName: "getRoster", args: [rosterVersion] });
const [protocolFeeBps, guardianFeeBps] = await chain.readContract({ ...hub, functionName: "feePolicy" });
// The same terms as the pages and service-cli make of this page: the token takes an authorization over them once.
const terms: Terms = {
  specCommitment,
  expectedRosterHash: roster.guardianRosterHash,
  escrowAmount,
  submissionDeadline,
  judgingWindow,
  maxProtocolFee: (escrowAmount * protocolFeeBps) / 10_000n,
  maxGuardianFee: (escrowAmount * guardianFeeBps) / 10_000n,
  salt: fundingSalt(deployment.chainId, deployment.hubAddress, poster.address, specCommitment, 1), // the first on this page
};
const address = await chain.readContract({ ...hub, functionName: "token" });
const name = await chain.readContract({ address, abi: erc20Abi, functionName: "name" });
const version = await chain.readContract({
  address,
  abi: parseAbi(["function version() view returns (string)"]),
  functionName: "version",
});
const validBefore = now + AUTHORIZATION_SECONDS;
const typedData = fundingTypedData(deployment, { address, name, version }, poster.address, terms, validBefore);
const signature = await poster.signTypedData(typedData);
const act = fundingAct(deployment, poster.address, terms, validBefore, signature);
const [call] = act.calls;
if (call === undefined) throw new Error("an act has a call");
const wallet = createWalletClient({ account: poster, transport: http(rpcUrl) });
const before = await chain.getBlockNumber();
const hash = await wallet.sendTransaction({ ...call, chain: null });
const { logs } = await chain.waitForTransactionReceipt({ hash });
// Where it failed, somebody may have relayed the same call before: the event decides.
const [created] = actEvents(act, logs) ?? (await findActEvents(chain, act, before)) ?? []; // the log may lag the receipt
if (created === undefined) throw new Error(`the Hub refused the transaction ${hash}`);
console.log(`${created.args.bountyId}`);
