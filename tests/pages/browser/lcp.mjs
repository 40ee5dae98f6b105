// When the largest part of a page is painted on a slow phone, in milliseconds after its navigation began.
//
//     node lcp.mjs < cases.json        [{name, url}]
//
// The phone: a window of 360 by 740, a processor that is four times slower, 1.6 Mbit/s with 150 ms for each way there and
// back, nothing kept from before. Prints one JSON line for each case, the median of five visits. Exit code 3: no browser.
import { readFileSync } from 'node:fs';
import { launch } from './launch.mjs';

const VISITS = 5;
const NETWORK = { offline: false, latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 };
const browser = await launch();

async function visit(url) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width: 360, height: 740, deviceScaleFactor: 2, isMobile: true });
  const session = await page.createCDPSession();
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', NETWORK);
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await page.goto(url, { waitUntil: 'networkidle0' });
  const painted = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const seen = (list) => resolve(list.getEntries().at(-1).startTime);
        new PerformanceObserver(seen).observe({ type: 'largest-contentful-paint', buffered: true });
      }),
  );
  await context.close();
  return painted;
}

for (const { name, url } of JSON.parse(readFileSync(0, 'utf8'))) {
  const painted = [];
  for (let count = 0; count < VISITS; count += 1) painted.push(await visit(url));
  painted.sort((left, right) => left - right);
  process.stdout.write(`${JSON.stringify({ name, painted: painted[Math.floor(VISITS / 2)] })}\n`);
}
await browser.close();
