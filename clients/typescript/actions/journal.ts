/**
 * What was begun in this browser, so that it continues after a reload: written down before anything is signed or sent,
 * and held by one tab at a time. Private keys and content identities are never in it.
 */

import type { Address } from "viem";
import { ServiceError, type Deployment } from "../src/acting.js";

const STORE = "steps";

export class Journal {
  readonly #database: IDBDatabase;
  readonly #prefix: string;

  private constructor(database: IDBDatabase, prefix: string) {
    this.#database = database;
    this.#prefix = prefix;
  }

  /** The journal of one account on one deployment; without one, what any account of this browser has typed. */
  static async open({ chainId, hubAddress }: Deployment, account?: Address): Promise<Journal> {
    let opening: IDBOpenDBRequest;
    try {
      opening = indexedDB.open("bounty-escrow", 1);
    } catch {
      throw unusable(); // where the browser blocks what sites keep
    }
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    return new Journal(await answered(opening), `${chainId} ${hubAddress.toLowerCase()} ${account === undefined ? "" : `${account} `}`);
  }

  async get<Value>(name: string): Promise<Value | undefined> {
    return answered(this.#store("readonly", "strict").get(this.#prefix + name) as IDBRequest<Value | undefined>);
  }

  /** Keeps a text as it is typed. */
  async write(name: string, text: string): Promise<void> {
    await this.#written((store) => {
      store.put(text, this.#prefix + name);
      store.transaction.commit(); // a tab that is closed before an answer came would take it back
    }, "relaxed");
  }

  /** The names that begin so, of this account. */
  async namesBelow(beginning: string): Promise<readonly string[]> {
    const first = this.#prefix + beginning;
    const keys = await answered(this.#store("readonly", "strict").getAllKeys(IDBKeyRange.bound(first, `${first}\uffff`)));
    return keys.map((key) => String(key).slice(this.#prefix.length));
  }

  /** Keeps a value; on disk before this returns. */
  async put(name: string, value: unknown): Promise<void> {
    await this.#written((store) => store.put(value, this.#prefix + name));
  }

  async remove(name: string): Promise<void> {
    await this.#written((store) => store.delete(this.#prefix + name));
  }

  /** Runs one piece of work while no other tab does the same one; raises `already_running`. */
  async alone<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
    return navigator.locks.request(this.#prefix + name, { ifAvailable: true }, async (lock) => {
      if (lock !== null) return work();
      throw new ServiceError("already_running", "Another tab of this browser is already doing this.", {
        nextAction: "Continue there, or close that tab. If there is none, reload this page.",
      });
    });
  }

  #store(mode: IDBTransactionMode, durability: IDBTransactionDurability): IDBObjectStore {
    return this.#database.transaction(STORE, mode, { durability }).objectStore(STORE);
  }

  async #written(
    change: (store: IDBObjectStore) => void,
    durability: IDBTransactionDurability = "strict",
  ): Promise<void> {
    const store = this.#store("readwrite", durability);
    change(store);
    await new Promise<void>((resolve, reject) => {
      store.transaction.oncomplete = () => resolve();
      store.transaction.onabort = store.transaction.onerror = () => reject(unusable());
    });
  }
}

function answered<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(unusable());
  });
}

function unusable(): ServiceError {
  return new ServiceError("journal_unusable", "This browser does not let the page save its progress.", {
    nextAction: "Use a window that is not private, and make sure that the disk is not full.",
  });
}
