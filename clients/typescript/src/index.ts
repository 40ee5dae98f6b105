/**
 * The Bounty Escrow Service for TypeScript (docs/typescript.md): signed requests, commitments, sealing and opening, the
 * API and the Hub. Runs in browsers and in Node 20 and newer, on Web Streams; nothing here keeps a secret after it
 * returns.
 */

export * from "./acting.js";
export * from "./opening.js";
export * from "./sealing.js";
