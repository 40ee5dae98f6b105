// Made by tools/generate/typescript.py. Do not edit.

/** Names of files and directories, in lower case, that should not be passed on. */
export const SECRET_NAMES: readonly RegExp[] = [/^\.env$/s, /^\.env\..*$/s, /^\.git$/s, /^\.netrc$/s, /^.*\.pem$/s, /^.*\.key$/s, /^.*\.p12$/s, /^.*\.pfx$/s, /^id_rsa.*$/s, /^id_dsa.*$/s, /^id_ecdsa.*$/s, /^id_ed25519.*$/s, /^.*guardian.*key.*\.json$/s, /^utc\-\-.*$/s];
/** How the first line of a private key begins that is neither empty nor a comment. */
export const KEY_LINE = /^(?:-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----|AGE-SECRET-KEY-(?:PQ-)?1)/;
/** In which that line is looked for. */
export const BEGIN_BYTES = 1024;

/** A private key of age, wherever it is in a text. */
export const AGE_KEY = /AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{16}/i;
/** What may never be on a page: what it is called, its form, and after what it is none. */
export const KEY_FORMS: readonly (readonly [string, RegExp, RegExp?])[] = [
  ["a private key", /-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/gi],
  ["an age identity", /AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{16}/gi],
  ["a private key of an account", /(?:private|secret|signing|deployer)[ _-]?key[^\n]{0,60}?\b(?:0x)?[0-9a-f]{64}\b|\b(?:wallet|privatekeytoaccount|from_key|signingkey)\(\s{0,20}[\"']?(?:0x)?[0-9a-f]{64}\b|\b(?:0x)?[0-9a-f]{64}\b[^\n]{0,20}\bprivate key/gi],
  ["a private key of an account", /\bkey\b[\s:=\"'`]{0,20}(?:is\b[\s:\"'`]{0,20})?(?:0x)?[0-9a-f]{64}\b/gi, /(?:public[ _-])$/i],
  ["a recovery phrase", /\b(?:seed|mnemonic|recovery|secret)(?: phrase| words)?\b(?: is|:| is:| =|=)\s{0,20}[\"'`]?(?:[a-z]{3,8}[\s,]{1,20}){11}[a-z]{3,8}\b/gi],
];
