// Seals and opens in a headless browser: node browser.mjs JOB.json BROWSER-MODULES prints the result and the peak
// memory of
// the page's process in kilobytes. Exit code 3: no browser could be started on this machine.
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { buildSync } from "esbuild";

const [jobFile, modules] = process.argv.slice(2);
const require = createRequire(`${modules}/here.js`);
const { outputFiles } = buildSync({
  entryPoints: [new URL("page.mjs", import.meta.url).pathname],
  bundle: true,
  format: "esm",
  write: false,
});

let browser;
try {
  const chromium = (await import(require.resolve("@sparticuz/chromium"))).default;
  const puppeteer = (await import(require.resolve("puppeteer-core"))).default;
  const executablePath = await chromium.executablePath();
  browser = await puppeteer.launch({
    args: chromium.args,
    executablePath,
    headless: "shell",
    protocolTimeout: 3_600_000,
  });
} catch (error) {
  process.stderr.write(`${error}\n`);
  process.exit(3);
}

/** Whether a process is the browser's own; other browsers may run on this machine. */
function isOurs(id) {
  if (id === browser.process().pid) return true;
  return id > 1 && isOurs(Number(/\nPPid:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "latin1"))?.[1] ?? 0));
}

/** The largest peak among the browser's processes, in kilobytes: a page may be in the first one. */
function peakOfProcesses() {
  const peaks = readdirSync("/proc").map((name) => {
    try {
      if (!/^[0-9]+$/.test(name) || !isOurs(Number(name))) return 0;
      return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${name}/status`, "latin1"))?.[1] ?? 0);
    } catch {
      return 0; // it is no process, or ended meanwhile
    }
  });
  return Math.max(...peaks);
}

const server = createServer((request, response) => {
  const script = request.url === "/page.js";
  response.writeHead(200, { "Content-Type": script ? "text/javascript" : "text/html" });
  response.end(script ? outputFiles[0].text : '<!doctype html><script type="module" src="/page.js"></script>');
});
server.listen(0, "127.0.0.1", async () => {
  const page = await browser.newPage();
  page.on("pageerror", (error) => process.stderr.write(`${error}\n`));
  await page.goto(`http://127.0.0.1:${server.address().port}/`, { waitUntil: "load" });
  const before = peakOfProcesses();
  const result = await page.evaluate((job) => globalThis.sealAndOpen(job), JSON.parse(readFileSync(jobFile, "utf8")));
  console.log(JSON.stringify({ ...result, grownKilobytes: peakOfProcesses() - before }));
  await browser.close();
  server.close();
});
