/** Values as people read them. Accounts, amounts and times are always whole: nothing that is signed is shortened. */

import { formatUnits } from "viem";

/** The escrow token, read from the chain. */
export interface Token {
  readonly symbol: string;
  readonly decimals: number;
}

export function amount(value: bigint, { symbol, decimals }: Token): string {
  return `${formatUnits(value, decimals)} ${symbol}`;
}

/** A time of the chain, in UTC. */
export function moment(seconds: bigint | number): string {
  const date = new Date(Number(seconds) * 1_000);
  if (Number.isNaN(date.getTime())) return `${seconds} seconds after 1970`;
  return `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function duration(seconds: bigint | number): string {
  const whole = Number(seconds);
  for (const [size, name] of [
    [86_400, "day"],
    [3_600, "hour"],
    [60, "minute"],
  ] as const) {
    if (whole >= 2 * size && whole % size === 0) return `${whole / size} ${name}s`;
  }
  return `${whole} seconds`;
}

export function bytes(count: number): string {
  if (count < 1_000) return counted(count, "byte");
  const [size, name] = count < 1_000_000 ? [1_000, "kB"] : [1_000_000, "MB"];
  return `${(count / size).toFixed(1)} ${name}`;
}

export function counted(count: number, noun: string, many = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;
}

/** Text of strangers: what reorders or hides text is shown as a question mark. */
export function printable(text: string, limit = 200): string {
  const shown = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
  return shown.length > limit ? `${shown.slice(0, limit)}…` : shown;
}
