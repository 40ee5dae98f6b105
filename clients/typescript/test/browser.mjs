// Runs the vectors in a headless browser, and seals, uploads and opens a large file there, as the pages do and under their
// policies, and a smaller one without WebAssembly: node browser.mjs JOB.json LAUNCH.mjs prints what was found, how long
// sealing took, how much memory each part took, and what is refused. Exit code 3: no browser.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { buildSync } from "esbuild";

const [jobFile, launcher] = process.argv.slice(2);
const job = JSON.parse(readFileSync(jobFile, "utf8"));
const MEBIBYTE = 1024 * 1024;
const SAMPLE_MILLISECONDS = 250;

const { launch } = await import(launcher);
const browser = await launch({ webSecurity: true, protocolTimeout: 3_600_000 });

function script(path) {
  const entryPoints = [new URL(path, import.meta.url).pathname];
  const define = { SEALER: '"./sealer.js"' };
  return buildSync({ entryPoints, define, bundle: true, format: "esm", minify: true, write: false }).outputFiles[0].text;
}
const answers = {
  "/": ["text/html", '<!doctype html><script type="module" src="/page.js"></script>', job.policies.page],
  "/page.js": ["text/javascript", script("page.mjs"), job.policies.page],
};
const sealer = script("../actions/sealer.ts");

/** Whether a process is the browser's own; other browsers may run on this machine. */
function isOurs(id) {
  if (id === browser.process().pid) return true;
  try {
    return id > 1 && isOurs(Number(/\nPPid:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "latin1"))?.[1] ?? 0));
  } catch {
    return false; // it ended meanwhile
  }
}

const processes = () => readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && isOurs(Number(name)));

/**
 * Kilobytes of memory that the browser holds and that no file stands behind: anonymous and shared memory of all its
 * processes, shared pages counted once. Not the programs' own files, which the kernel maps and drops as it likes, and not
 * the origin's files, which are on disk in the profile's folder.
 */
function held(ids) {
  let kilobytes = 0;
  for (const id of ids) {
    try {
      const counts = readFileSync(`/proc/${id}/smaps_rollup`, "latin1").matchAll(/^Pss_(?:Anon|Shmem):\s+(\d+)/gm);
      for (const [, count] of counts) kilobytes += Number(count);
    } catch {
      continue; // it ended meanwhile
    }
  }
  return kilobytes;
}

/** By how many kilobytes the browser grew at most while this went on, and what it returned. */
async function measured(work) {
  await session.send("HeapProfiler.collectGarbage");
  const ids = processes();
  const before = held(ids);
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, held(ids))), SAMPLE_MILLISECONDS);
  const result = await work().finally(() => clearInterval(timer));
  return [Math.max(most, held(processes())) - before, result];
}

/** A worker in the place of the one that seals; what its policy lets it do is the code of its refusal. */
function probe() {
  globalThis.onmessage = async () => {
    const allowed = [];
    try {
      if (new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))) allowed.push("WebAssembly");
    } catch {} // it may not
    if ((await fetch("/").catch(() => undefined)) !== undefined) allowed.push("requests");
    globalThis.postMessage({ failure: { code: allowed.join(), message: "", details: {} } });
  };
}

/** Of a file whose mebibytes are filled with their numbers. */
function digestOf(mebibytes) {
  const digest = createHash("sha256");
  const block = Buffer.alloc(MEBIBYTE);
  for (let number = 0; number < mebibytes; number += 1) digest.update(block.fill(number));
  return digest.digest("hex");
}

/** The SHA-256 of what was uploaded last. */
let uploaded;
const server = createServer((request, response) => {
  if (request.method === "PUT") {
    const digest = createHash("sha256");
    request.on("data", (chunk) => digest.update(chunk));
    request.on("end", () => {
      uploaded = `0x${digest.digest("hex")}`;
      response.end();
    });
    return;
  }
  const [type, text, policy] = answers[request.url] ?? ["text/plain", "", ""];
  response.writeHead(type === "text/plain" ? 404 : 200, { "Content-Type": type, "Content-Security-Policy": policy });
  response.end(text);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const page = await browser.newPage();
const session = await page.createCDPSession();
page.on("pageerror", (error) => process.stderr.write(`${error}\n`));
const address = `http://127.0.0.1:${server.address().port}/`;

/** What became of the vectors in a page under a policy. */
async function vectorsUnder(policy) {
  answers["/"][2] = policy;
  await page.goto(address, { waitUntil: "load" });
  return page.evaluate(() => globalThis.runVectors());
}

const compiling = job.policies.page.replace("script-src 'self'", "$& 'wasm-unsafe-eval'");
const vectors = { plain: await vectorsUnder(job.policies.page), compiled: await vectorsUnder(compiling) };
answers["/"][2] = job.policies.page;
await page.goto(address, { waitUntil: "load" });
await page.evaluate((mebibytes) => globalThis.writeSource(mebibytes), job.mebibytes);

/** What a file of this size became, sealed under a policy of the worker. */
async function sealed(mebibytes, policy) {
  answers["/sealer.js"] = ["text/javascript", sealer, policy];
  const [sealingKilobytes, { sealSeconds, envelope }] = await measured(() =>
    page.evaluate((...given) => globalThis.seal(...given), job, mebibytes),
  );
  const [uploadingKilobytes, isReported] = await measured(() => page.evaluate(() => globalThis.upload()));
  const isUploaded = isReported && JSON.parse(envelope).ciphertext.sha256 === uploaded;
  const [openingKilobytes, found] = await measured(() =>
    page.evaluate((...given) => globalThis.open(...given), job, envelope),
  );
  const kilobytes = { sealing: sealingKilobytes, uploading: uploadingKilobytes, opening: openingKilobytes };
  return { found, wanted: digestOf(mebibytes), isUploaded, sealSeconds, kilobytes };
}

/** With what code and message a page refuses, and what its worker is. */
async function refused(path, worker = sealer) {
  answers["/sealer.js"] = ["text/javascript", worker, job.policies.sealer];
  return page.evaluate((...given) => globalThis.refusal(...given), job, path);
}

const compiled = await sealed(job.mebibytes, job.policies.sealer);
const plain = await sealed(job.plainMebibytes, "default-src 'none'");
const [heldKilobytes] = await measured(() => page.evaluate((bytes) => globalThis.hold(bytes), job.holdBytes));
const { origin } = new URL(page.url());
const refusals = [await refused("../large"), await refused("large", "throw new Error()")];
await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: MEBIBYTE });
refusals.push(await refused("large"));
await session.send("Storage.overrideQuotaForOrigin", { origin });
const [allowed] = await refused("large", `(${probe})()`);
const kept = await page.evaluate(() => globalThis.removed());
console.log(JSON.stringify({ vectors, compiled, plain, heldKilobytes, refusals, allowed, kept }));
await browser.close();
server.close();
