// One act by an account of ERC-4337 that need not exist nor own ether, through viem's bundler client; the variables name
// everything. Prints the bounty's id, the hash of the operation, and whether the chain's own log shows the same.
import * as client from "bounty-escrow-client";
import { createPublicClient, defineChain, encodeFunctionData, http, parseAbi, zeroHash } from "viem";
import { createBundlerClient, createPaymasterClient, entryPoint07Abi, getUserOperationHash } from "viem/account-abstraction";
import { toSmartAccount } from "viem/account-abstraction";
import { privateKeyToAccount } from "viem/accounts";

const { RPC_URL, BUNDLER_URL, PAYMASTER_URL, ENTRY_POINT, FACTORY, OWNER_KEY, HUB, TOKEN, CHAIN_ID, TERMS } = process.env;
const id = Number(CHAIN_ID);
const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
const network = defineChain({ id, name: "local", nativeCurrency, rpcUrls: { default: { http: [RPC_URL] } } });
const chain = createPublicClient({ chain: network, transport: http(RPC_URL) });
const owner = privateKeyToAccount(OWNER_KEY);
const factoryAbi = parseAbi([
  "function createAccount(address owner, uint256 salt) returns (address)",
  "function getAddress(address owner, uint256 salt) view returns (address)",
]);
const accountAbi = parseAbi(["function executeBatch(address[] dest, uint256[] value, bytes[] func)"]);
const entryPoint = { abi: entryPoint07Abi, address: ENTRY_POINT, version: "0.7" };

/** The SimpleAccount of an owner, as a program describes its own kind of account to viem. */
const account = await toSmartAccount({
  client: chain,
  entryPoint,
  getAddress: () =>
    chain.readContract({ address: FACTORY, abi: factoryAbi, functionName: "getAddress", args: [owner.address, 0n] }),
  getFactoryArgs: async () => {
    const args = [owner.address, 0n];
    return { factory: FACTORY, factoryData: encodeFunctionData({ abi: factoryAbi, functionName: "createAccount", args }) };
  },
  encodeCalls: async (calls) => {
    const args = [calls.map(({ to }) => to), calls.map(({ value }) => value ?? 0n), calls.map(({ data }) => data ?? "0x")];
    return encodeFunctionData({ abi: accountAbi, functionName: "executeBatch", args });
  },
  getStubSignature: () => owner.signMessage({ message: { raw: zeroHash } }),
  signMessage: ({ message }) => owner.signMessage({ message }),
  signTypedData: (typedData) => owner.signTypedData(typedData),
  signUserOperation: async (operation) => {
    const userOperation = { ...operation, sender: account.address };
    const hash = getUserOperationHash({ chainId: id, entryPointAddress: ENTRY_POINT, entryPointVersion: "0.7", userOperation });
    return owner.signMessage({ message: { raw: hash } });
  },
});
const bundler = createBundlerClient({
  account,
  chain: network,
  client: chain,
  transport: http(BUNDLER_URL),
  paymaster: createPaymasterClient({ transport: http(PAYMASTER_URL) }),
  userOperation: {
    estimateFeesPerGas: async () => {
      const { standard } = await bundler.request({ method: "pimlico_getUserOperationGasPrice" });
      return { maxFeePerGas: BigInt(standard.maxFeePerGas), maxPriorityFeePerGas: BigInt(standard.maxPriorityFeePerGas) };
    },
  },
});

const given = JSON.parse(TERMS);
const amounts = ["escrowAmount", "submissionDeadline", "judgingWindow", "maxProtocolFee", "maxGuardianFee"];
const terms = { ...given, ...Object.fromEntries(amounts.map((name) => [name, BigInt(given[name])])) };
const act = client.allowanceAct({ chainId: id, hubAddress: HUB }, TOKEN, account.address, terms);
const before = await chain.getBlockNumber();
const hash = await bundler.sendUserOperation({ calls: act.calls });
const { logs, receipt, success, actualGasUsed } = await bundler.waitForUserOperationReceipt({ hash, pollingInterval: 100 });
const [created] = client.actEvents(act, logs) ?? [];
const [inWhole] = client.actEvents(act, receipt.logs) ?? []; // of the whole bundle
const [onChain] = (await client.findActEvents(chain, act, before)) ?? [];
console.log(
  JSON.stringify({
    success,
    account: account.address.toLowerCase(),
    bountyId: `${created?.args.bountyId}`,
    same: created?.logIndex === onChain?.logIndex && inWhole?.logIndex === onChain?.logIndex,
    transaction: onChain?.transactionHash,
    gas: Number(receipt.gasUsed),
    operationGas: Number(actualGasUsed),
  }),
);
