// Builds the scripts of the pages into a folder: node actions/build.mjs FOLDER. The same sources make the same bytes,
// on every machine; the names carry a hash of the bytes, and the licenses file has the notices of every package in them.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const top = dirname(dirname(fileURLToPath(import.meta.url)));
const [folder] = process.argv.slice(2);

const options = {
  absWorkingDir: top,
  outdir: folder,
  bundle: true,
  format: "esm",
  target: "es2022",
  platform: "browser",
  minify: true,
  legalComments: "none", // the licenses file has them whole
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  metafile: true,
};
const worker = await build({ ...options, entryPoints: ["actions/sealer.ts"] });
const [sealer] = Object.keys(worker.metafile.outputs).map((path) => basename(path));
const pages = await build({
  ...options,
  entryPoints: ["actions/connect.ts"],
  splitting: true,
  define: { SEALER: JSON.stringify(`./${sealer}`) },
});

const packages = new Set();
for (const input of Object.keys({ ...worker.metafile.inputs, ...pages.metafile.inputs })) {
  const found = /^node_modules\/((?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found !== null) packages.add(found[1]);
}
const notices = [...packages].sort().map((name) => {
  const at = join(top, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(at, "package.json"), "utf8"));
  const files = readdirSync(at)
    .filter((each) => /^licen[cs]e/i.test(each))
    .sort();
  const text = files.map((each) => `\n${readFileSync(join(at, each), "utf8").trim()}\n`).join("");
  return `${name} ${version} (${license})\n${text}`;
});
const rule = `\n${"-".repeat(80)}\n\n`;
const licenses = `What these scripts contain.\n${rule}${notices.join(rule)}`;
const hash = createHash("sha256").update(licenses).digest("hex").slice(0, 8);
writeFileSync(join(folder, `licenses-${hash}.txt`), licenses);
