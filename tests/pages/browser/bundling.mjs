// A wallet that has calls done by a bundler (ERC-4337) for an account whose own code is a smart account (EIP-7702), and asks
// a paymaster service (ERC-7677) to pay where the page names one. The account's key signs operations, nothing else.

const ENTRY_POINT = '0x0000000071727De22E5E9d8BAf0edAc6f37da032';
const ABI = [
  'function executeBatch(address[] to, uint256[] value, bytes[] data)',
  'function getNonce(address sender, uint192 key) view returns (uint256)',
  'struct Packed { address sender; uint256 nonce; bytes initCode; bytes callData; bytes32 accountGasLimits; uint256 preVerificationGas; bytes32 gasFees; bytes paymasterAndData; bytes signature; }',
  'function getUserOpHash(Packed operation) view returns (bytes32)',
];
const OF_PAYMASTER = ['paymaster', 'paymasterData', 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'];

/** The answer of a bundler or a paymaster, or an error as wallets give it. */
async function ask(url, method, params, milliseconds = 5_000) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'Content-Type': 'application/json' };
  let found;
  try {
    const signal = AbortSignal.timeout(milliseconds);
    found = await (await fetch(url, { method: 'POST', headers, body, signal })).json();
  } catch {
    throw { code: -32603, message: `${new URL(url).host} does not answer ${method}` };
  }
  if (found.error) throw { code: -32603, message: `${method}: ${found.error.message}` };
  return found.result;
}

function chosen(answer, names) {
  return Object.fromEntries(Object.entries(answer).filter(([name]) => names.includes(name)));
}

function pair(viem, high, low) {
  return viem.concat([high, low].map((each) => viem.pad(each ?? '0x0', { size: 16 })));
}

/** Sends the calls of a batch as one operation; gives its hash. */
export async function sendOperation(viem, wallet, { calls, capabilities }) {
  const abi = viem.parseAbi(ABI);
  const { account, bundlerUrl } = wallet;
  const node = viem.createPublicClient({ transport: viem.http(wallet.rpcUrl) });
  const args = [calls.map(({ to }) => to), calls.map(({ value }) => BigInt(value)), calls.map(({ data }) => data)];
  const nonce = await node.readContract({ address: ENTRY_POINT, abi, functionName: 'getNonce', args: [account.address, 0n] });
  const { standard } = await ask(bundlerUrl, 'pimlico_getUserOperationGasPrice', []);
  const sign = (raw) => account.signMessage({ message: { raw } });
  const operation = {
    sender: account.address,
    nonce: viem.toHex(nonce),
    callData: viem.encodeFunctionData({ abi, functionName: 'executeBatch', args }),
    signature: await sign(viem.pad('0x0', { size: 32 })),
    ...standard,
  };
  const { paymasterService } = wallet.drops_sponsors ? {} : (capabilities ?? {});
  const context = [ENTRY_POINT, viem.toHex(wallet.chainId), paymasterService?.context];
  const paid = async (method) => {
    if (paymasterService === undefined) return {};
    return chosen(await ask(paymasterService.url, method, [operation, ...context]), OF_PAYMASTER);
  };
  Object.assign(operation, await paid('pm_getPaymasterStubData'));
  Object.assign(operation, await ask(bundlerUrl, 'eth_estimateUserOperationGas', [operation, ENTRY_POINT]));
  Object.assign(operation, await paid('pm_getPaymasterData'));
  const packed = {
    sender: operation.sender,
    nonce,
    initCode: '0x',
    callData: operation.callData,
    accountGasLimits: pair(viem, operation.verificationGasLimit, operation.callGasLimit),
    preVerificationGas: BigInt(operation.preVerificationGas),
    gasFees: pair(viem, operation.maxPriorityFeePerGas, operation.maxFeePerGas),
    paymasterAndData:
      operation.paymaster === undefined
        ? '0x'
        : viem.concat([
            operation.paymaster,
            pair(viem, operation.paymasterVerificationGasLimit, operation.paymasterPostOpGasLimit),
            operation.paymasterData,
          ]),
    signature: '0x',
  };
  const hash = await node.readContract({ address: ENTRY_POINT, abi, functionName: 'getUserOpHash', args: [packed] });
  operation.signature = await sign(hash);
  return ask(bundlerUrl, 'eth_sendUserOperation', [operation, ENTRY_POINT]);
}

/** What became of an operation, as `wallet_getCallsStatus` says it. */
export async function statusOfOperation({ bundlerUrl }, id, hash) {
  const found = await ask(bundlerUrl, 'eth_getUserOperationReceipt', [hash]);
  if (found === null) return { version: '2.0.0', id, status: 100, atomic: true };
  const { receipt, success } = found;
  const receipts = [{ transactionHash: receipt.transactionHash, status: '0x1', logs: found.logs }];
  return { version: '2.0.0', id, status: success ? 200 : 500, atomic: true, receipts };
}
