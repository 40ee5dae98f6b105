// Measures the boxes of strangers' titles in one headless browser, with fonts that have their letters.
//
//     node boxes.mjs < cases.json        [{name, url, width, unclipped}]
//
// Prints, as one JSON line each, {name, wide, lines, inkOutside, titles}: how much wider than the window the page is; the
// lines of each title, at most; whether anything of a title is drawn outside of its box; and the texts. For the ink, two
// pictures of the page are compared, with the titles visible and transparent, and their boxes covered in both. `unclipped`
// lets the titles draw where they want: then the ink shows whether a box cuts anything off. Exit code 3: no browser.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { launch } from './launch.mjs';

const require = createRequire(import.meta.url);
const cases = JSON.parse(readFileSync(0, 'utf8'));
const SCRIPTS = { arabic: 'sans', khmer: 'sans', lao: 'sans', thai: 'sans', tibetan: 'serif' };
const TITLES = '.title, .card .summary, .lead > bdi, .rows li > a';

const fonts = Object.entries(SCRIPTS).map(([script, kind]) => {
  const folder = join(dirname(require.resolve(`@fontsource-variable/noto-${kind}-${script}/package.json`)), 'files');
  const file = readdirSync(folder).find((each) => each.endsWith(`-${script}-wght-normal.woff2`));
  return [script, readFileSync(join(folder, file)).toString('base64')];
});

const browser = await launch();
for (const each of cases) {
  const page = await browser.newPage();
  await page.setViewport({ width: each.width, height: 900 });
  await page.goto(each.url, { waitUntil: 'load' });
  await page.evaluate(async (found, titles, unclipped) => {
    for (const [name, data] of found) {
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      document.fonts.add(await new FontFace(`test-${name}`, bytes.buffer).load());
    }
    const families = found.map(([name]) => `test-${name}`).join(', ');
    document.documentElement.style.setProperty('--font', `"Open Sans", "DejaVu Sans", ${families}, sans-serif`);
    if (unclipped) {
      for (const title of document.querySelectorAll(titles)) Object.assign(title.style, { overflow: 'visible', contain: 'none' });
    }
    // The boxes are measured once every font is there that this layout wants: one that comes later moves the lines.
    for (let settled = 0; settled < 3; settled += 1) {
      document.body.getBoundingClientRect();
      await document.fonts.ready;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
  }, fonts, TITLES, each.unclipped);
  const seen = await page.evaluate((titles) => {
    const found = [...document.querySelectorAll(titles)];
    const lines = (title) => Math.round(title.getBoundingClientRect().height / parseFloat(getComputedStyle(title).lineHeight));
    for (const title of found) {
      const { left, top, width, height } = title.getBoundingClientRect();
      const margin = parseFloat(getComputedStyle(title).overflowClipMargin) || 0;
      const cover = document.createElement('div');
      Object.assign(cover.style, {
        position: 'absolute', zIndex: 9, background: 'black', left: `${Math.floor(left + scrollX - margin) - 1}px`,
        top: `${Math.floor(top + scrollY - margin) - 1}px`, width: `${Math.ceil(width + 2 * margin) + 3}px`, height: `${Math.ceil(height + 2 * margin) + 3}px`,
      });
      document.body.append(cover);
    }
    return {
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      lines: Math.max(0, ...[...document.querySelectorAll('.title')].map(lines)),
      titles: [...document.querySelectorAll('.title')].map((title) => title.textContent),
    };
  }, TITLES);
  // Of a page that is painted whole: two pictures in a row are the same, which one of a busy machine may not be.
  const picture = async () => {
    await page.evaluate(() => document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(done))));
    const take = () => page.screenshot({ fullPage: true, encoding: 'base64', optimizeForSpeed: true });
    let [former, taken] = [undefined, await take()];
    for (let tries = 0; tries < 5 && taken !== former; tries += 1) [former, taken] = [taken, await take()];
    return taken;
  };
  const draw = (isVisible) => page.evaluate((titles, colour) => {
    for (const title of document.querySelectorAll(titles)) {
      Object.assign(title.style, { color: colour, textDecorationColor: colour });
      if (title.parentElement.matches('a')) title.parentElement.style.textDecorationColor = colour;
    }
  }, TITLES, isVisible ? '' : 'transparent');
  // Ink is outside where it goes with the titles and is the same when they are back: whatever else is painted late is none.
  let [visible, inkOutside] = [await picture(), undefined];
  for (let tries = 0; tries < 5 && inkOutside === undefined; tries += 1) {
    await draw(false);
    const hidden = await picture();
    await draw(true);
    const again = await picture();
    if (hidden === visible || hidden === again) inkOutside = false;
    else if (again === visible) inkOutside = true;
    visible = again;
  }
  process.stdout.write(`${JSON.stringify({ name: each.name, ...seen, inkOutside })}\n`);
  await page.close();
}
await browser.close();
