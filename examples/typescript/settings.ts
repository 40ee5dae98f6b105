import { QUICKNET } from "bounty-escrow-client";
import type { Beacon, Deployment } from "bounty-escrow-client";

export const apiUrl = "https://bounties.example";
export const rpcUrl = "https://rpc.example";
export const relays = ["https://api.drand.sh"];
export const deployment: Deployment = { chainId: 8453, hubAddress: "0x00000000000000000000000000000000000000aa" };
export const beacon: Beacon = QUICKNET;
