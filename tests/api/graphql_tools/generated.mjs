// Types of the schema in this folder's schema.graphql, as GraphQL Code Generator makes them, in generated.ts.
import { readFileSync, writeFileSync } from "node:fs";

import { codegen } from "@graphql-codegen/core";
import * as operations from "@graphql-codegen/typescript-operations";
import { buildSchema, parse } from "graphql";

const scalars = { BigInt: "string", Integer: "number" };
const [folder] = process.argv.slice(2);
const schema = readFileSync(`${folder}/schema.graphql`, "utf-8");
const made = await codegen({
  filename: "generated.ts",
  schema: parse(schema),
  schemaAst: buildSchema(schema),
  documents: [{ location: "query.graphql", document: parse(readFileSync(`${folder}/query.graphql`, "utf-8")) }],
  config: { scalars, strictScalars: true, enumsAsTypes: true },
  plugins: [{ operations: {} }],
  pluginMap: { operations },
});
writeFileSync(`${folder}/generated.ts`, made);
