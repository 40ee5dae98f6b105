// How many tokens a text is for a model; the text comes on stdin.
import { readFileSync } from "node:fs";
import { encode } from "gpt-tokenizer";

process.stdout.write(String(encode(readFileSync(0, "utf8")).length));
