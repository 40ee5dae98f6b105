"""Names under which opened work is laid out, so that no tool obeys what its Solver put there.

Some files act without anybody starting them: a shell prompt has git run what ``.git/config`` names, an editor reads
``.vscode``, a file manager fetches the icon that ``desktop.ini`` names. Each part of a path that the table below holds
is laid out as ``inert_<name>_``, and so is a name with characters that nobody sees. What a person has to start (a
Makefile, ``setup.py``, a program) keeps its name. Names are compared as the most forgiving file systems do: without
letter case, without characters that nobody sees, without what Windows drops.

The renaming can be undone: take ``inert_`` and the last ``_`` away, and put the character of each ``{U+…}`` back. A
name that looks like a laid-out one is laid out the same way, so two names never become one. Only a name that would get
longer than a file system takes is cut, with its digest instead.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Final

from bounty_protocol.crypto.archive import MAX_NAME_BYTES, folded
from bounty_protocol.domain.challenge.invisible_characters import UNSEEN, without_unseen


@dataclass(frozen=True, slots=True)
class Obeyed:
    """Names that some tool obeys: an expression over the whole folded name, and why."""

    pattern: str
    reason: str
    files_only: bool = False


HARMLESS: Final = (
    ".bountyignore", ".dockerignore", ".editorconfig", ".eslintignore", ".gitignore", ".gitkeep", ".keep", ".nojekyll",
    ".npmignore", ".prettierignore",
)  # fmt: skip
"""Hidden names that at most leave files out or indent them."""

OBEYED: Final = (
    Obeyed(
        r"\..*",
        "hidden, and read unasked: version control (.git, .hg, .svn, .jj), environments (.env, "
        ".envrc), editors (.vscode, .idea, .vimrc), debuggers, shells, package managers (.gdbinit, .bashrc, .npmrc), "
        "versions (.tool-versions, .python-version), agents (.mcp.json)",
    ),
    Obeyed("head", "with objects and refs beside it, a directory is a repository whose config git applies", True),
    Obeyed(r"_darcs|_fossil_|cvs", "version control, which prompts and editors query"),
    Obeyed(r"[^.~]{1,8}~[0-9]{1,6}(\.[^.]{0,3})?", "a Windows short name of another file (git~1 for .git)"),
    Obeyed(r"mise|mise(\..*)?\.toml", "mise sets variables and runs hooks when a shell enters the directory"),
    Obeyed(r"rust-toolchain(\.toml)?|bunfig\.toml", "names programs that run instead of cargo, rustc or bun"),
    Obeyed(r"pyvenv\.cfg", "makes the directory a Python environment, whose interpreter editors run"),
    Obeyed(
        r"(site|user)customize(\..*)?|encodings(\..*)?|.*\.pth",
        "run by Python when it starts, also compiled (.pyc, .so, .pyd)",
    ),
    Obeyed(r"conftest\.py|pytest\.(ini|toml)", "run or applied by pytest for every test in or beside its directory"),
    Obeyed("__pycache__", "Python runs the compiled code in it instead of the source that a person reads"),
    Obeyed(
        r"ipython_config\.py|jupyter_.*config\.(py|json)|profile_default",
        "run by IPython and Jupyter when they are started there",
    ),
    Obeyed(r"pylintrc(\.toml)?|mypy\.ini", "names code that editors run to check an open file"),
    Obeyed(r"(eslint|prettier|stylelint)\.config\.[a-z]{2,3}", "code that editors run to check or format an open file"),
    Obeyed(r"_(vim|gvim|nvim|ex)rc", "run by vim when it is started there"),
    Obeyed(r"latexmkrc|startup\.m", "run by latexmk and MATLAB when they are started there"),
    Obeyed(r".*-gdb\.(py|gdb|scm)", "run by gdb if it is beside the debugged program"),
    Obeyed(
        r"(agents|claude|gemini|qwen|warp|crush|codex|copilot-instructions)(\..*)?\.md|opencode\.jsonc?|skill\.md",
        "instructions and commands that coding agents follow",
    ),
    Obeyed(
        r"autorun\.inf|desktop\.ini|folder\.htt|.*\.(desktop|lnk|url|scf|website|library-ms|search-ms|searchconnector-ms)",
        "makes file managers show other names and icons, fetched from a server that it names",
    ),
)
"""Names of files that programs obey without being started."""

_MARK: Final = "inert_"
_CUT_MARK: Final = "inert~"
_KEPT_OF_CUT: Final = 150
_KEPT_NAMES: Final = frozenset(HARMLESS)
_ANY_KIND: Final = re.compile("|".join(f"(?:{one.pattern})" for one in OBEYED if not one.files_only), re.DOTALL)
_FILES: Final = re.compile("|".join(f"(?:{one.pattern})" for one in OBEYED), re.DOTALL)


def inert_path(path: str, *, directory: bool) -> str:
    """Return the path to which an archive entry is written; the same path if no tool acts on its names."""
    *above, last = path.split("/")
    return "/".join([*(inert_name(part, directory=True) for part in above), inert_name(last, directory=directory)])


@lru_cache(maxsize=32_768)
def inert_name(name: str, *, directory: bool) -> str:
    """Return one part of a path as it is written."""
    if not _is_obeyed(name, directory=directory):
        return name
    laid_out = f"{_MARK}{_shown(name)}_"
    if len(laid_out.encode()) <= MAX_NAME_BYTES:
        return laid_out
    kept = _shown(name).encode()[:_KEPT_OF_CUT].decode("utf-8", "ignore")
    return f"{_CUT_MARK}{kept}~{sha256(name.encode()).hexdigest()[:16]}_"


def _is_obeyed(name: str, *, directory: bool) -> bool:
    if UNSEEN.search(name):
        return True
    compared = folded(unicodedata.normalize("NFKC", without_unseen(name))).partition(":")[0].rstrip(". ")
    if compared.startswith((_MARK, _CUT_MARK)):
        return True
    if name in _KEPT_NAMES:
        return False
    return (_ANY_KIND if directory else _FILES).fullmatch(compared) is not None


def _shown(name: str) -> str:
    """Show the number of each invisible character; a brace of the name itself counts as one.

    A joiner beside a character that became a number no longer joins anything, so it becomes a number as well.
    """
    shown = name.replace("{", "{U+007B}")
    while UNSEEN.search(shown):
        shown = UNSEEN.sub(lambda found: f"{{U+{ord(found.group()):04X}}}", shown)
    return shown
