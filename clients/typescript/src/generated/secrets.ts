// Made by tools/generate/typescript.py. Do not edit.

/** Names of files and directories, in lower case, that should not be passed on. */
export const SECRET_NAMES: readonly RegExp[] = [/^\.env$/s, /^\.env\..*$/s, /^\.git$/s, /^\.netrc$/s, /^.*\.pem$/s, /^.*\.key$/s, /^.*\.p12$/s, /^.*\.pfx$/s, /^id_rsa.*$/s, /^id_dsa.*$/s, /^id_ecdsa.*$/s, /^id_ed25519.*$/s, /^.*guardian.*key.*\.json$/s, /^utc\-\-.*$/s];
/** How the first line of a private key begins that is neither empty nor a comment. */
export const KEY_LINE = /^(?:-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----|AGE-SECRET-KEY-(?:PQ-)?1)/;
/** In which that line is looked for. */
export const BEGIN_BYTES = 1024;

/** A private key of age, wherever it is in a text. */
export const AGE_KEY = /AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{16}/i;
