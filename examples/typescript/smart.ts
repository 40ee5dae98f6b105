import { actEvents, claimAct } from "bounty-escrow-client";
import { createPublicClient, defineChain, http } from "viem";
import type { Hex } from "viem";
import { createBundlerClient, createPaymasterClient, toSimple7702SmartAccount } from "viem/account-abstraction";
import { privateKeyToAccount } from "viem/accounts";
import "./refused.js";
import { deployment, rpcUrl } from "./settings.js";

const [bountyId = ""] = process.argv.slice(2);
const owner = privateKeyToAccount(process.env.SERVICE_CLAIMANT_PRIVATE_KEY as Hex);
const network = defineChain({
  id: deployment.chainId,
  name: "the deployment's chain",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [rpcUrl] } },
});
const chain = createPublicClient({ chain: network, transport: http(rpcUrl) });
const account = await toSimple7702SmartAccount({ client: chain, owner });
const bundler = createBundlerClient({
  account,
  chain: network,
  client: chain,
  paymaster: createPaymasterClient({ transport: http(process.env.PAYMASTER_URL) }),
  transport: http(process.env.BUNDLER_URL),
});

const act = claimAct(deployment.hubAddress, owner.address, { functionName: "claim", bountyId: BigInt(bountyId) });
const authorization = await chain.getCode({ address: owner.address }).then(async (code) => {
  if (code !== undefined) return undefined; // delegated already
  const nonce = await chain.getTransactionCount({ address: owner.address });
  return owner.signAuthorization({ chainId: deployment.chainId, nonce, ...account.authorization });
});
const hash = await bundler.sendUserOperation({ calls: act.calls, ...(authorization && { authorization }) });
const { logs } = await bundler.waitForUserOperationReceipt({ hash });
const [paid] = actEvents(act, logs) ?? [];
if (paid === undefined) throw new Error(`the operation ${hash} paid nothing`);
console.log(`${paid.args.amount}`);
