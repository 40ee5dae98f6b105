// Makes one public name after the other `any`, and compiles test/types.ts with it: node test/planted.mjs FOLDER STEP.
// FOLDER has a copy of types.ts; every STEP-th name is planted, every one with 1. Prints the public names, those that
// were planted, and those of which types.ts noticed nothing.
import { join, resolve } from "node:path";
import ts from "typescript";

const [folder, step] = process.argv.slice(2);
const [program, entry, planted] = [join(folder, "types.ts"), resolve("dist/index.d.ts"), resolve(folder, "planted.d.ts")];
const options = {
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  types: ["node"],
  paths: { "bounty-escrow-client": [planted] },
};
const parsed = new Map();
let text = "";
const host = ts.createCompilerHost(options);
const { fileExists, getSourceFile, readFile } = host;
host.fileExists = (name) => resolve(name) === planted || fileExists(name);
host.readFile = (name) => (resolve(name) === planted ? text : readFile(name));
host.getSourceFile = (name, target) => {
  if (resolve(name) === planted) return ts.createSourceFile(name, text, target);
  if (!parsed.has(name)) parsed.set(name, getSourceFile(name, target));
  return parsed.get(name);
};

const names = exported();
const original = `export * from ${JSON.stringify(entry.replace(/\.d\.ts$/, ".js"))};\n`;
const [without] = [errorsWith("")];
const chosen = [...names].filter((_, index) => index % Number(step) === 0);
const unnoticed = chosen.filter(([name, kinds]) => errorsWith(asAny(name, kinds)).length === 0).map(([name]) => name);
console.log(JSON.stringify({ names: [...names.keys()], without, planted: chosen.length, unnoticed }));

/** Every name of the entry point, and whether it is a value, a type, or both. */
function exported() {
  const whole = ts.createProgram([entry], { ...options, paths: {} });
  const checker = whole.getTypeChecker();
  const module = checker.getSymbolAtLocation(whole.getSourceFile(entry));
  return new Map(
    checker.getExportsOfModule(module).map((symbol) => {
      const { flags } = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return [symbol.name, { value: flags & ts.SymbolFlags.Value, type: flags & ts.SymbolFlags.Type }];
    }),
  );
}

function asAny(name, { value, type }) {
  return `${value ? `export declare const ${name}: any;\n` : ""}${type ? `export type ${name} = any;\n` : ""}`;
}

function errorsWith(plant) {
  text = original + plant;
  const compiled = ts.createProgram([program], options, host);
  return ts
    .getPreEmitDiagnostics(compiled)
    .map((found) => ts.flattenDiagnosticMessageText(found.messageText, " ").slice(0, 200));
}
