// What a program loads of the package that only reads, that signs, and that seals: minified, tree-shaken, by brotli; and
// how much of the minified bytes are dependencies'. Prints one JSON object.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";

const PROGRAMS = {
  reading: `import { answerOf, createApi, readBounty } from "./dist/index.js";
    import { createPublicClient, http } from "viem";
    export { answerOf, createApi, createPublicClient, http, readBounty };`,
  signing: `import { answerOf, createApi, fundingCall, fundingTypedData, hubCall, readBounty } from "./dist/acting.js";
    import { createPublicClient, createWalletClient, custom } from "viem";
    export { answerOf, createApi, createPublicClient, createWalletClient, custom, fundingCall, fundingTypedData, hubCall,
      readBounty };`,
  sealing: `export { sealSubmission, uploadCiphertext } from "./dist/index.js";`,
};

const top = dirname(dirname(fileURLToPath(import.meta.url)));
const sizes = {};
for (const [name, contents] of Object.entries(PROGRAMS)) {
  const { metafile, outputFiles } = await build({
    absWorkingDir: top,
    stdin: { contents, resolveDir: top },
    bundle: true,
    format: "esm",
    target: "es2022",
    platform: "browser",
    minify: true,
    legalComments: "none",
    metafile: true,
    write: false,
  });
  const [output] = Object.values(metafile.outputs);
  const inputs = Object.entries(output.inputs);
  const of = (wanted) =>
    inputs.filter(([path]) => path.startsWith("node_modules/") === wanted).reduce((sum, [, each]) => sum + each.bytesInOutput, 0);
  sizes[name] = { brotli: brotliCompressSync(outputFiles[0].contents).length, dependencies: of(true), own: of(false) };
}
console.log(JSON.stringify(sizes));
