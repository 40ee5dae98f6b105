/**
 * The sentences of the scripts in the language of the pages. What stands in t`…` and in `plural` is extracted into the
 * catalogue of the pages (tools/generate/catalogue.py); English needs none.
 */

/** What is shown in the place of an English sentence. */
export interface Words {
  readonly texts: Readonly<Record<string, string | readonly string[]>>;
  /** Which form of a plural a count takes, for the counts from 0 to 199: from there on by its last two digits. */
  readonly forms: readonly number[];
}

type Value = string | number | bigint;

let words: Words = { texts: {}, forms: [] };

/** Shows these words from now on; called before any other script is loaded. */
export function useWords(found: Words): void {
  words = found;
}

/** Gives a sentence with its values, in the language of the pages. */
export function t(parts: TemplateStringsArray, ...values: readonly Value[]): string {
  const message = parts.map((part) => part.replaceAll("%", "%%")).reduce((text, part, at) => `${text}%(v${at})s${part}`);
  const found = words.texts[message];
  return filled(typeof found === "string" ? found : message, (name) => values[Number(name.slice(1)) - 1]);
}

/** Gives a sentence that depends on how many there are; `%(count)s` stands for the number. */
export function plural(count: number, one: string, many: string): string {
  const found = words.texts[one];
  const form = words.forms[count < 200 ? count : 100 + (count % 100)] ?? 0;
  const message = (typeof found === "object" ? found[form] : undefined) ?? (count === 1 ? one : many);
  return filled(message, () => count.toLocaleString("en"));
}

function filled(message: string, valueOf: (name: string) => Value | undefined): string {
  return message.replace(/%(?:\((\w+)\)s|%)/g, (found, name?: string) => (name === undefined ? "%" : `${valueOf(name) ?? found}`));
}
