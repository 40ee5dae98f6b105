// The example's signer and this runtime's URLSearchParams against the published vectors; prints what differs.
import { readFileSync } from "node:fs";

const [exampleUrl, vectors] = process.argv.slice(2);
const { authorize, Wallet } = await import(exampleUrl).then(async (example) => ({
  ...example,
  Wallet: (await import(new URL("./node_modules/ethers/lib.esm/index.js", exampleUrl))).Wallet,
}));
const load = (name) => JSON.parse(readFileSync(`${vectors}/${name}`, "utf8"));

const approvals = load("request_approval.json");
const wallet = new Wallet(approvals.private_key);
const domain = { chainId: approvals.chain_id, verifyingContract: approvals.hub_address };
for (const { request, typed_data, authorization } of approvals.accepted) {
  const url = new URL(`https://${request.audience}${request.path}?${request.raw_query}`);
  const { blockNumber, blockHash } = typed_data.message;
  const block = { number: blockNumber, hash: blockHash };
  const made = await authorize(wallet, domain, request.method, url, Buffer.from(request.body, "base64"), block);
  if (made !== authorization) console.log("approval", request.path, made);
}
for (const { raw, canonical } of load("canonical_query.json").accepted) {
  const made = new URLSearchParams(raw.startsWith("?") ? `?${raw}` : raw).toString();
  if (made !== canonical) console.log("query", raw, made);
}
console.log("done", approvals.accepted.length);
