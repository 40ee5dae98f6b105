// Before `npm pack`: the package is built from nothing, so that a fresh clone packs all of it and no file of yesterday, and
// has the project's license beside it.
import { spawnSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
rmSync(here("dist"), { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [here("node_modules/typescript/bin/tsc"), "--project", here(".")], {
  stdio: "inherit",
});
if (status !== 0) process.exit(status ?? 1);
copyFileSync(here("../../LICENSE"), here("LICENSE"));
