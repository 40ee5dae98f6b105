// Funds: the terms are signed as the token's authorization, and the call that carries it is encoded.
import { commitmentOf, fundingAct, fundingSalt, fundingTypedData } from "bounty-escrow-client";
import type { Deployment, Terms } from "bounty-escrow-client";
import { recoverTypedDataAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

const deployment: Deployment = { chainId: 8453, hubAddress: "0x00000000000000000000000000000000000000aa" };

export async function poster(): Promise<string> {
  const account = privateKeyToAccount(generatePrivateKey());
  const specCommitment = commitmentOf("# A page\n");
  const terms: Terms = {
    specCommitment,
    expectedRosterHash: `0x${"11".repeat(32)}`,
    escrowAmount: 5_000_000n,
    submissionDeadline: 2_000_000_000n,
    judgingWindow: 86_400n,
    maxProtocolFee: 0n,
    maxGuardianFee: 0n,
    salt: fundingSalt(deployment.chainId, deployment.hubAddress, account.address, specCommitment, 1),
  };
  const token = { address: deployment.hubAddress, name: "USD Coin", version: "2" } as const;
  const typedData = fundingTypedData(deployment, token, account.address, terms, 1_999_000_000n);
  const signature = await account.signTypedData(typedData);
  const signer = await recoverTypedDataAddress({ ...typedData, signature });
  const { calls } = fundingAct(deployment, account.address, terms, 1_999_000_000n, signature);
  return `${signer === account.address} ${calls[0]?.data.length}`;
}
