// What a reader sees who opens the site from the disk and searches: node browse.mjs LAUNCH.mjs SITE QUERY.
// Prints {requests, first, results, opened}: every address that was asked for, the first page's heading, the addresses of
// the results, and the heading of the page behind the first one. Exit code 3: no browser.
import { pathToFileURL } from "node:url";

const [launcher, site, query] = process.argv.slice(2);
const { launch } = await import(launcher);
const browser = await launch();
try {
  const page = await browser.newPage();
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  const heading = async () => (await page.waitForSelector("article h1")) && page.$eval("article h1", (each) => each.innerText);
  await page.goto(pathToFileURL(`${site}/index.html`).href, { waitUntil: "load" });
  const first = await heading();
  await page.type('.sidebar-search[name="q"]', query);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await page.waitForSelector("#search-results li a", { timeout: 20_000 });
  const results = await page.$$eval("#search-results li a", (links) => links.map((link) => link.href));
  if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE });
  await Promise.all([page.waitForNavigation(), page.$eval("#search-results li a", (link) => link.click())]);
  console.log(JSON.stringify({ requests, first, results, opened: await heading() }));
} finally {
  await browser.close();
}
