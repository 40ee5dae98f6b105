// One signed request: METHOD URL [MEDIA-TYPE BODY-FILE]; needs RPC_URL, HUB_ADDRESS and PRIVATE_KEY in the environment.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { JsonRpcProvider, Wallet, keccak256 } from "ethers";

const types = {
  ApiRequestApproval: [
    { name: "endpointId", type: "string" }, { name: "audience", type: "string" },
    { name: "bodyHash", type: "bytes32" }, { name: "query", type: "string" },
    { name: "blockNumber", type: "uint256" }, { name: "blockHash", type: "bytes32" },
  ],
};

/** The Authorization header for exactly this request; `block` is a recent one: {number, hash}. */
export async function authorize(wallet, domain, method, url, body, block) {
  const message = {
    endpointId: `${method.toUpperCase()} ${url.pathname}`,
    audience: url.host,
    bodyHash: keccak256(body),
    query: url.searchParams.toString(),
    blockNumber: block.number,
    blockHash: block.hash,
  };
  const signature = await wallet.signTypedData({ name: "Service", version: "1", ...domain }, types, message);
  const fields = [wallet.address.toLowerCase(), signature, block.number, block.hash].join("~");
  return `Service-Approval ${Buffer.from(fields).toString("base64")}`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [method, address, mediaType, file] = process.argv.slice(2);
  const provider = new JsonRpcProvider(process.env.RPC_URL, undefined, { staticNetwork: true });
  const url = new URL(address), body = file ? readFileSync(file) : new Uint8Array();
  const domain = { chainId: (await provider.getNetwork()).chainId, verifyingContract: process.env.HUB_ADDRESS };
  const block = await provider.getBlock(Math.max(0, (await provider.getBlockNumber()) - 30)); // 6 s old on Base
  const headers = { Authorization: await authorize(new Wallet(process.env.PRIVATE_KEY), domain, method, url, body, block) };
  if (mediaType) headers["Content-Type"] = mediaType;
  const answer = await fetch(url, { method, headers, body: file ? body : undefined, redirect: "error" });
  console.log(answer.status, await answer.text());
  provider.destroy();
}
