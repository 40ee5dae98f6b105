// Made by tools/generate/typescript.py. Do not edit.

/** Names that tools obey, as expressions over a whole folded name; whether of files alone. */
export const OBEYED: readonly (readonly [string, boolean])[] = [
  ["\\..*", false],
  ["head", true],
  ["_darcs|_fossil_|cvs", false],
  ["[^.~]{1,8}~[0-9]{1,6}(\\.[^.]{0,3})?", false],
  ["mise|mise(\\..*)?\\.toml", false],
  ["rust-toolchain(\\.toml)?|bunfig\\.toml", false],
  ["pyvenv\\.cfg", false],
  ["(site|user)customize(\\..*)?|encodings(\\..*)?|.*\\.pth", false],
  ["conftest\\.py|pytest\\.(ini|toml)", false],
  ["__pycache__", false],
  ["ipython_config\\.py|jupyter_.*config\\.(py|json)|profile_default", false],
  ["pylintrc(\\.toml)?|mypy\\.ini", false],
  ["(eslint|prettier|stylelint)\\.config\\.[a-z]{2,3}", false],
  ["_(vim|gvim|nvim|ex)rc", false],
  ["latexmkrc|startup\\.m", false],
  [".*-gdb\\.(py|gdb|scm)", false],
  ["(agents|claude|gemini|qwen|warp|crush|codex|copilot-instructions)(\\..*)?\\.md|opencode\\.jsonc?|skill\\.md", false],
  ["autorun\\.inf|desktop\\.ini|folder\\.htt|.*\\.(desktop|lnk|url|scf|website|library-ms|search-ms|searchconnector-ms)", false],
];

/** Hidden names that nothing is done with. */
export const HARMLESS: ReadonlySet<string> = new Set([
  ".bountyignore",
  ".dockerignore",
  ".editorconfig",
  ".eslintignore",
  ".gitignore",
  ".gitkeep",
  ".keep",
  ".nojekyll",
  ".npmignore",
  ".prettierignore",
]);

/** Characters that nobody sees, as a part of a class of an expression. */
export const UNSEEN = String.raw`\u{AD}-\u{AD}\u{34F}-\u{34F}\u{61C}-\u{61C}\u{115F}-\u{1160}\u{17B4}-\u{17B5}\u{180B}-\u{180F}\u{200B}-\u{200B}\u{200E}-\u{200F}\u{2028}-\u{202E}\u{2060}-\u{206F}\u{2800}-\u{2800}\u{3164}-\u{3164}\u{FE00}-\u{FE0D}\u{FEFF}-\u{FEFF}\u{FFA0}-\u{FFA0}\u{FFF0}-\u{FFFB}\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}`;
export const JOINERS = String.raw`\u{200C}\u{200D}`;
export const SELECTORS = String.raw`\u{FE0E}\u{FE0F}`;
