// What a page shows once its script has run: node browser.mjs LAUNCH.mjs URL. Exit code 3: no browser.
const [launcher, url] = process.argv.slice(2);
const { launch } = await import(launcher);
const browser = await launch();
try {
  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForFunction(() => document.title !== "", { timeout: 60_000 });
  console.log(await page.title());
} finally {
  await browser.close();
}
