// Visits pages in one headless browser and prints, as one JSON line each, what it found on them.
//
//     node visit.mjs < cases.json        [{name, url, width, theme, bypass, shot}]
//
// A finding is a script error, a console message, a request to another origin, a dialog, a frame, a picture that was
// not loaded, content wider than the window, a shift of the layout, or what axe-core finds. Exit code 3: no browser
// could be started on this machine.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { launch } from './launch.mjs';

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const cases = JSON.parse(readFileSync(0, 'utf8'));
/** Chromium's own sign in a field for a day, which no page asked for. */
const CALENDAR = 'data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSIxNiIgaGVpZ2h0PSIxNSIg';
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

const browser = await launch();

for (const each of cases) {
  const page = await browser.newPage();
  const findings = [];
  const origin = new URL(each.url).origin;
  page.on('console', (message) => findings.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => findings.push(`error: ${error.message}`));
  page.on('dialog', async (dialog) => {
    findings.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on('framenavigated', (frame) => {
    if (frame !== page.mainFrame()) findings.push(`frame: ${frame.url()}`);
  });
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    if (new URL(request.url()).origin === origin || request.url().startsWith(CALENDAR)) return request.continue();
    findings.push(`request: ${request.url()}`);
    return request.abort();
  });
  await page.setBypassCSP(Boolean(each.bypass));
  await page.setViewport({ width: each.width, height: 900 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: each.theme }]);
  await page.evaluateOnNewDocument(() => {
    window.shifted = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.shifted += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
  });
  await page.goto(each.url, { waitUntil: 'load' });
  const shifted = await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(window.shifted)))),
  );
  await page.evaluate(() => document.querySelectorAll('details').forEach((found) => (found.open = true)));
  const seen = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    broken: [...document.images].filter((found) => !found.complete || !found.naturalWidth).map((found) => found.src),
    frames: window.length,
    cookies: document.cookie,
  }));
  if (seen.wide > 0) findings.push(`wider than the window by ${seen.wide}`);
  if (seen.frames) findings.push(`${seen.frames} frames`);
  if (seen.cookies) findings.push(`cookies: ${seen.cookies}`);
  if (shifted > 0.05) findings.push(`the layout shifted by ${shifted}`);
  for (const source of seen.broken) findings.push(`not loaded: ${source}`);
  if (each.axe) {
    await page.evaluate(axe); // by the debugger's means, which no policy concerns
    const found = await page.evaluate(
      async (rules) => (await window.axe.run({ runOnly: rules })).violations.map((violation) => ({
        id: violation.id,
        nodes: violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)),
      })),
      RULES,
    );
    for (const violation of found) findings.push(`axe: ${violation.id}: ${violation.nodes.join(' | ')}`);
  }
  if (each.shot) await page.screenshot({ path: each.shot, fullPage: true });
  process.stdout.write(`${JSON.stringify({ name: each.name, findings })}\n`);
  await page.close();
}
await browser.close();
