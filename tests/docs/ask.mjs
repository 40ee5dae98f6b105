// What the site's search finds, by the scripts that its own page loads: node ask.mjs SITE < queries.json.
// Prints for each query the results as [page, anchor], best first.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const site = process.argv[2];
const scripts = [...readFileSync(`${site}/search.html`, "utf8").matchAll(/<script src="([^"?]+)/g)].map(([, name]) => name);
const nothing = () => {};
const location = new URL("http://site/search.html");
const page = vm.createContext({
  document: { readyState: "loading", documentElement: { dataset: {} }, getElementById: () => null, querySelectorAll: () => [], addEventListener: nothing },
  localStorage: { getItem: nothing, setItem: nothing, removeItem: nothing }, location, console, URL, URLSearchParams,
});
page.window = page;
for (const name of scripts.filter((each) => !each.includes("furo"))) vm.runInContext(readFileSync(`${site}/${name}`, "utf8"), page);
const search = vm.runInContext("(query) => Search._performSearch(...Search._parseQuery(query))", page);
const found = JSON.parse(readFileSync(0, "utf8")).map((query) => {
  location.searchParams.set("q", query);
  return search(query).reverse().map(([name, , anchor]) => [name, anchor]);
});
console.log(JSON.stringify(found));
