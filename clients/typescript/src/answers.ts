/** Answers of servers that are not trusted, read within a limit. */

import { chunksOf } from "./bytes.js";
import { ServiceError } from "./errors.js";

/** The text of an answer of at most `limit` bytes; an endless one is `answer_malformed`. */
export async function readText(response: Response, limit: number): Promise<string> {
  const decoder = new TextDecoder();
  let [size, text] = [0, ""];
  if (response.body === null) return text;
  for await (const chunk of chunksOf(response.body)) {
    size += chunk.length;
    if (size > limit) throw new ServiceError("answer_malformed", `the answer is larger than ${limit} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
