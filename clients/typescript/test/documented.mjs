// Each public name of the package, with what an editor shows of it: whether it has a comment, and how long its type is.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const top = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = join(top, "dist/index.d.ts");
const options = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, skipLibCheck: true };
const program = ts.createProgram([entry], options);
const checker = program.getTypeChecker();
const AS_SHOWN = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;
const shown = {};
for (const name of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)))) {
  const symbol = name.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(name) : name;
  const [declaration] = symbol.getDeclarations();
  const comment = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  const isValue = symbol.flags & ts.SymbolFlags.Value;
  const type = isValue ? checker.typeToString(checker.getTypeOfSymbolAtLocation(symbol, declaration), undefined, AS_SHOWN) : "";
  shown[name.name] = { comment, letters: type.length };
}
console.log(JSON.stringify(shown));
