/** A wallet of this browser: found by EIP-6963, asked by EIP-1193, and never by anything else. */

import { getTypesForEIP712Domain, hashTypedData, recoverAddress, size } from "viem";
import type { Address, Hex, TypedDataDomain } from "viem";
import { ServiceError } from "../src/acting.js";
import { chainOf } from "./chains.js";
import { AnsweredLate, inTime } from "./provider.js";
import type { Provider } from "./provider.js";
import { refusedBy, revertData } from "./refused.js";
import { printable } from "./text.js";
import { t } from "./words.js";

/** A wallet that announced itself. Its name is what it calls itself, `id` the same for programs. */
export interface Announced {
  readonly id: string;
  readonly name: string;
  readonly provider: Provider;
}

/** Typed data as the functions of this package make it. */
export interface TypedData {
  readonly domain: TypedDataDomain;
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** A signature, and the digest of what was signed. */
export interface Signed {
  readonly digest: Hex;
  readonly signature: Hex;
}

const NAME_LENGTH = 40;
const MOST_ANNOUNCED = 20;
const DECLINED = 4001;
const UNKNOWN_CHAIN = 4902;
const BUSY = -32002;
const MOST_MILLISECONDS = 30_000;

/** Calls `found` for each wallet as it announces itself, each once. */
export function discover(found: (wallet: Announced) => void): void {
  const seen = new Set<string>();
  addEventListener("eip6963:announceProvider", (event) => {
    const { info, provider } = (
      event as CustomEvent<{ info?: { uuid?: unknown; name?: unknown; rdns?: unknown }; provider?: Provider }>
    ).detail;
    if (typeof info?.uuid !== "string" || typeof info.name !== "string" || provider === undefined) return;
    if (seen.has(info.uuid) || seen.size >= MOST_ANNOUNCED) return;
    seen.add(info.uuid);
    const name = printable(info.name, NAME_LENGTH) || t`A wallet without a name`;
    found({ id: typeof info.rdns === "string" ? info.rdns : name, name, provider });
  });
  dispatchEvent(new Event("eip6963:requestProvider"));
}

/** One account of a wallet, which acts on one chain. */
export class Wallet {
  readonly address: Address;
  readonly name: string;
  readonly chainId: number;
  readonly #provider: Provider;
  /** What it signed last on this page: shows how its account signs. */
  lastSigned: Signed | undefined;
  #isStale = false;

  private constructor({ name, provider }: Announced, address: Address, chainId: number) {
    this.name = name;
    this.address = address;
    this.#provider = provider;
    this.chainId = chainId;
    provider.on?.("chainChanged", (chain) => {
      if (Number(chain) !== chainId) this.#isStale = true; // what was read since may be another chain's
    });
  }

  /** The account that the person chooses in the wallet. */
  static async connect(announced: Announced, chainId: number): Promise<Wallet> {
    const wallet = Wallet.#first(announced, chainId, await ask(announced.provider, "eth_requestAccounts"));
    if (wallet === undefined) {
      throw new ServiceError("wallet_failed", t`The wallet shows no account.`, {
        nextAction: t`Allow this page to see an account, and connect again.`,
      });
    }
    return wallet;
  }

  /** The account that the wallet shows this page without asking anybody; undefined where it shows none. */
  static async connectAgain(announced: Announced, chainId: number): Promise<Wallet | undefined> {
    return Wallet.#first(announced, chainId, await askedNobody(announced.provider, "eth_accounts"));
  }

  static #first(announced: Announced, chainId: number, accounts: unknown): Wallet | undefined {
    const [first] = Array.isArray(accounts) ? (accounts as unknown[]) : [];
    if (typeof first !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(first)) return undefined;
    return new Wallet(announced, first.toLowerCase() as Address, chainId);
  }

  /** Calls `changed` when the wallet's account or chain is another one. */
  onChange(changed: () => void): void {
    for (const event of ["accountsChanged", "chainChanged"]) {
      this.#provider.on?.(event, () => void this.requireReady().catch(changed)); // some report the account they had
    }
  }

  /** Refuses a wallet that is on another chain, or was meanwhile: `wrong_chain`. */
  async requireChain(): Promise<void> {
    this.#requireFresh();
    const chainId = Number(await askedNobody(this.#provider, "eth_chainId"));
    if (chainId !== this.chainId) {
      const message = t`The wallet is on chain ${chainId}; this page acts on chain ${this.chainId} only.`;
      throw new ServiceError("wrong_chain", message, { nextAction: t`Switch the wallet to that chain.` });
    }
  }

  /** Refuses a wallet that is on another chain, or has another account selected: `wrong_chain`, `wrong_account`. */
  async requireReady(): Promise<void> {
    await this.requireChain();
    const accounts = await askedNobody(this.#provider, "eth_accounts");
    const [selected] = Array.isArray(accounts) ? (accounts as unknown[]) : [];
    if (typeof selected !== "string" || selected.toLowerCase() !== this.address) {
      const message = t`The wallet has another account selected than ${this.address}, with which this page was connected.`;
      throw new ServiceError("wrong_account", message, { nextAction: t`Select that account, or connect again.` });
    }
  }

  /** Asks the wallet to change to the deployment's chain; one that it does not know is given to it first. */
  async switchChain(): Promise<void> {
    const chainId = `0x${this.chainId.toString(16)}`;
    const change = () => ask(this.#provider, "wallet_switchEthereumChain", [{ chainId }]);
    try {
      await change();
    } catch (error) {
      const chain = chainOf(this.chainId);
      if (!(error instanceof ServiceError && error.code === "unknown_chain") || chain === undefined) throw error;
      const { name: chainName, nativeCurrency, rpcUrls, blockExplorers } = chain;
      const urls = { rpcUrls: rpcUrls.default.http, blockExplorerUrls: [blockExplorers?.default.url] };
      await ask(this.#provider, "wallet_addEthereumChain", [{ chainId, chainName, nativeCurrency, ...urls }]);
      await change(); // a wallet may add a chain and stay where it is
    }
  }

  /** A question to the wallet's own node; `wrong_chain` once the wallet has changed it for another chain's. */
  async read(method: string, params: readonly unknown[]): Promise<unknown> {
    this.#requireFresh();
    const answer = await this.#provider.request({ method, params });
    this.#requireFresh();
    return answer;
  }

  #requireFresh(): void {
    if (!this.#isStale) return;
    const message = t`The wallet changed its chain since this page read it.`;
    throw new ServiceError("wrong_chain", message, { nextAction: t`Connect the wallet again.` });
  }

  /** The person's signature of typed data, which was explained before. */
  async signTypedData(typedData: TypedData): Promise<Hex> {
    await this.requireReady();
    const { domain, types } = typedData;
    const whole = { ...typedData, types: { EIP712Domain: getTypesForEIP712Domain({ domain }), ...types } };
    const text = JSON.stringify(whole, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
    const digest = hashTypedData(typedData);
    const given = hexOf(await ask(this.#provider, "eth_signTypedData_v4", [this.address, text]));
    const signature = await wholeSignature(this.address, digest, given);
    this.lastSigned = { digest, signature };
    return signature;
  }

  /** Has a transaction without ether sent; what the wallet names it by, which for a contract account is no hash. */
  async send(to: Address, data: Hex): Promise<Hex> {
    await this.requireReady();
    const chainId = `0x${this.chainId.toString(16)}`; // a wallet that is switched meanwhile refuses it
    const transaction = { from: this.address, to, data, value: "0x0", chainId };
    return hexOf(await ask(this.#provider, "eth_sendTransaction", [transaction]));
  }
}

/** Whether it says that the wallet is on another chain than the page. */
export function isWrongChain(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === "wrong_chain";
}

/** A question that a wallet answers without its person, and so at once; one that hangs is told as that. */
async function askedNobody(provider: Provider, method: string): Promise<unknown> {
  try {
    return await inTime(ask(provider, method), MOST_MILLISECONDS);
  } catch (error) {
    if (!(error instanceof AnsweredLate)) throw error;
    const nextAction = t`Open the wallet and see whether it works, then reload this page.`;
    throw new ServiceError("wallet_failed", t`The wallet does not answer.`, { nextAction });
  }
}

async function ask(provider: Provider, method: string, params: readonly unknown[] = []): Promise<unknown> {
  try {
    return await provider.request({ method, params });
  } catch (error) {
    throw walletRefusal(error);
  }
}

/** A wallet's refusal in a sentence: the Hub's, where the wallet tried the call and names it; else its own text is shown below. */
export function walletRefusal(error: unknown): ServiceError {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code === DECLINED) {
    const nextAction = t`Nothing was signed or sent. Press the button again to go on.`;
    return new ServiceError("declined", t`You declined in the wallet.`, { nextAction });
  }
  if (code === UNKNOWN_CHAIN) {
    const nextAction = t`Add the chain in the wallet's settings, with the address of a node, and connect again.`;
    return new ServiceError("unknown_chain", t`The wallet does not know this chain.`, { nextAction });
  }
  if (code === BUSY) {
    const nextAction = t`Answer it in the wallet, and try again.`;
    return new ServiceError("wallet_busy", t`The wallet has another question open.`, { nextAction });
  }
  const data = revertData(error);
  if (data !== undefined) {
    const { message: sentence, nextAction } = refusedBy(data, undefined);
    return new ServiceError("wallet_failed", sentence, { nextAction });
  }
  const issues = typeof message === "string" ? [{ path: "wallet", message: printable(message, 300) }] : [];
  const nextAction = t`Nothing was signed or sent as far as this page knows; look into the wallet before trying again.`;
  return new ServiceError("wallet_failed", t`The wallet could not do this.`, { issues, nextAction });
}

/**
 * Gives a key's signature as the token and the API take it: 65 bytes that end with 27 or 28. Some wallets give 0 or 1, or
 * the 64 bytes of EIP-2098; what is not the account's own key's, such as a Safe's, stays as it is.
 */
export async function wholeSignature(account: Address, digest: Hex, given: Hex): Promise<Hex> {
  const last = parseInt(given.slice(-2), 16);
  let whole = given;
  if (size(given) === 65 && last < 2) whole = `${given.slice(0, -2)}${(last + 27).toString(16)}` as Hex;
  if (size(given) === 64) {
    const [r, s] = [given.slice(2, 66), BigInt(`0x${given.slice(66)}`)];
    const isOdd = s >> 255n === 1n;
    const plain = (s & ((1n << 255n) - 1n)).toString(16).padStart(64, "0");
    whole = `0x${r}${plain}${isOdd ? "1c" : "1b"}`;
  }
  if (whole === given) return given;
  const signer = await recoverAddress({ hash: digest, signature: whole }).catch(() => undefined);
  return signer?.toLowerCase() === account ? whole : given;
}

function hexOf(value: unknown): Hex {
  if (typeof value === "string" && /^0x([0-9a-fA-F]{2})*$/.test(value)) return value.toLowerCase() as Hex;
  throw new ServiceError("wallet_failed", t`The wallet answered something that is neither signature nor transaction.`, {
    nextAction: t`Look into the wallet before trying again.`,
  });
}
