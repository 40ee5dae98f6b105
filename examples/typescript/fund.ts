import { readFile } from "node:fs/promises";
import { AUTHORIZATION_SECONDS, answerOf, commitmentOf, createApi, fundingCall } from "bounty-escrow-client";
import { fundingSalt, fundingTypedData, hourBegins, hubAbi, hubEvents, pageTerms } from "bounty-escrow-client";
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
const published = await answerOf(
  api.POST("/api/bounty-challenge-specs/prepare-publication", {
    params: { query: { poster_address: poster.address.toLowerCase() } },
    body: page,
    headers: { "Content-Type": "text/markdown" },
  }),
);
if (published.spec_commitment !== specCommitment) throw new Error("the API stored another page");

const { timestamp } = await chain.getBlock();
const now = hourBegins(timestamp, BigInt(Math.floor(Date.now() / 1_000))); // else its end is the endpoint's choice
const rosterVersion = await chain.readContract({ ...hub, functionName: "currentRosterVersion" });
const roster = await chain.readContract({ ...hub, functionName: "getRoster", args: [rosterVersion] });
const terms: Terms = {
  specCommitment,
  expectedRosterHash: roster.guardianRosterHash,
  escrowAmount,
  submissionDeadline,
  judgingWindow,
  maxProtocolFee: escrowAmount / 20n,
  maxGuardianFee: escrowAmount / 20n,
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
const call = fundingCall(deployment.hubAddress, poster.address, terms, validBefore, signature);
const wallet = createWalletClient({ account: poster, transport: http(rpcUrl) });
const hash = await wallet.writeContract({ ...call, chain: null });
const { logs } = await chain.waitForTransactionReceipt({ hash });
for (const event of hubEvents(deployment.hubAddress, logs)) {
  if (event.eventName === "BountyCreated") console.log(`${event.args.bountyId}`);
}
