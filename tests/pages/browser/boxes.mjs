// Measures the boxes of strangers' titles in one headless browser, with fonts that have their letters.
//
//     node boxes.mjs < cases.json        [{name, url, width, unclipped}]
//
// Prints, as one JSON line each, {name, wide, lines, inkOutside, titles}: how much wider than the window the page is; the
// lines of each title, at most; where anything of a title is drawn outside of its box, or false; and the texts. For the
// ink, two pictures of the page are compared, with the titles visible and transparent, and their boxes covered in both.
// `unclipped` lets the titles draw where they want: then the ink shows whether a box cuts anything off. Exit code 3: no
// browser.
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
  // Where the titles are now, each with what its box lets be drawn around it.
  const placesNow = () => page.evaluate((titles) => [...document.querySelectorAll(titles)].map((title) => {
    const { left, top, width, height } = title.getBoundingClientRect();
    const margin = parseFloat(getComputedStyle(title).overflowClipMargin) || 0;
    return {
      left: `${Math.floor(left + scrollX - margin) - 1}px`, top: `${Math.floor(top + scrollY - margin) - 1}px`,
      width: `${Math.ceil(width + 2 * margin) + 3}px`, height: `${Math.ceil(height + 2 * margin) + 3}px`,
    };
  }), TITLES);
  const cover = (places) => page.evaluate((found) => {
    for (const former of document.querySelectorAll('.test-cover')) former.remove();
    for (const place of found) {
      const box = document.createElement('div');
      box.className = 'test-cover';
      Object.assign(box.style, { position: 'absolute', zIndex: 9, background: 'black', ...place });
      document.body.append(box);
    }
  }, places);
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
  // The rectangle of the page in which two pictures of it differ.
  const difference = (first, second) => page.evaluate(async (pictures) => {
    const [one, other] = await Promise.all(pictures.map(async (data) => {
      const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))]));
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
      canvas.drawImage(bitmap, 0, 0);
      return canvas.getImageData(0, 0, bitmap.width, bitmap.height);
    }));
    const found = { left: Infinity, top: Infinity, right: -1, bottom: -1 };
    for (let at = 0; at < one.data.length; at += 1) {
      if (one.data[at] === other.data[at]) continue;
      const [x, y] = [(at >> 2) % one.width, Math.floor((at >> 2) / one.width)];
      Object.assign(found, { left: Math.min(found.left, x), top: Math.min(found.top, y) });
      Object.assign(found, { right: Math.max(found.right, x), bottom: Math.max(found.bottom, y) });
    }
    return found;
  }, [first, second]);
  // Ink is outside where it goes with the titles and is the same when they are back, twice: what is painted late is none.
  const inkOutsideNow = async () => {
    let [visible, former] = [await picture(), undefined];
    for (let tries = 0; tries < 5; tries += 1) {
      await draw(false);
      const hidden = await picture();
      await draw(true);
      const again = await picture();
      if (hidden === visible || hidden === again) return false;
      if (again === visible && hidden === former) return difference(hidden, visible);
      [visible, former] = [again, hidden];
    }
    return undefined;
  };
  // And it counts where the titles still are where they were covered: a font that comes late moves them.
  let [inkOutside, areCovered] = [undefined, false];
  for (let tries = 0; tries < 5 && !areCovered; tries += 1) {
    const places = await placesNow();
    await cover(places);
    inkOutside = await inkOutsideNow();
    areCovered = JSON.stringify(await placesNow()) === JSON.stringify(places);
  }
  const seen = await page.evaluate(() => {
    const found = [...document.querySelectorAll('.title')];
    const lines = (title) => Math.round(title.getBoundingClientRect().height / parseFloat(getComputedStyle(title).lineHeight));
    return {
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      lines: Math.max(0, ...found.map(lines)),
      titles: found.map((title) => title.textContent),
    };
  });
  if (!areCovered) throw new Error(`the titles of ${each.name} do not stay where they are`);
  process.stdout.write(`${JSON.stringify({ name: each.name, ...seen, inkOutside })}\n`);
  await page.close();
}
await browser.close();
