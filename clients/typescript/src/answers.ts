/** Answers of servers that are not trusted, read within a limit. */

import { ServiceError } from "./errors.js";

/** The text of an answer of at most `limit` bytes; an endless one is `answer_malformed`. */
export async function readText(response: Response, limit: number): Promise<string> {
  const decoder = new TextDecoder();
  let [size, text] = [0, ""];
  const reader = response.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || value === undefined) return text + decoder.decode();
    size += value.length;
    if (size > limit) {
      await reader?.cancel();
      throw new ServiceError("answer_malformed", `the answer is larger than ${limit} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}
