// The cases of the vectors as tests of Node: node vectors-in-node.mjs.
import { test } from "node:test";
import { cases } from "./vectors.mjs";

for (const { name, run } of cases) test(name, run);
