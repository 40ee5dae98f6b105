/**
 * Numbers, times, amounts and accounts as people read them, the same as the pages' server writes them
 * (`tests/pages/formats.json` holds both to it). Nothing that is signed is shortened or rounded.
 */

import { formatUnits } from "viem";

/** The escrow token, read from the chain. */
export interface Token {
  readonly symbol: string;
  readonly decimals: number;
}

const MONTHS = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];

/** Gives an amount of smallest units in whole tokens: `1,234.5 USDC`. */
export function amount(value: bigint, { symbol, decimals }: Token): string {
  const [whole = "", part] = formatUnits(value, decimals).split(".");
  return `${BigInt(whole).toLocaleString("en")}${part === undefined ? "" : `.${part}`} ${symbol}`;
}

/** Gives a time of the chain in UTC: `1 January 2030, 00:00:00 UTC`. */
export function moment(seconds: bigint | number): string {
  const date = new Date(Number(seconds) * 1_000);
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9_999) return `second ${Number(seconds).toLocaleString("en")} after 1970`;
  const [day, month, year] = [date.getUTCDate(), MONTHS[date.getUTCMonth()] ?? "", date.getUTCFullYear()];
  return `${day} ${month} ${year}, ${date.toISOString().slice(11, 19)} UTC`;
}

/** Gives a size: `412 bytes`, `1.4 kB`, `20.0 MB`. */
export function bytes(count: number): string {
  if (count < 1_000) return counted(count, "byte");
  const [size, name] = count < 1_000_000 ? [1_000, "kB"] : [1_000_000, "MB"];
  return `${(count / size).toFixed(1)} ${name}`;
}

/** Gives so many of a thing: `1 file`, `2 files`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Gives an address or a hash cut for a place where its whole is near. */
export function short(value: string): string {
  return `${value.slice(0, 6)}…${value.slice(-4)}`;
}

/** Shows what reorders or hides text as a question mark, in text that somebody else wrote. */
export function printable(text: string, limit = 200): string {
  const shown = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
  return shown.length > limit ? `${shown.slice(0, limit)}…` : shown;
}
