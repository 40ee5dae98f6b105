"""Vectors of the names under which opened work is laid out."""

from typing import Final

from bounty_protocol.crypto.inert_names import inert_path

_ABOUT: Final = (
    "laid_out is where an entry of an archive goes when it is opened, so that no tool obeys it; the same path where "
    "nothing in it is obeyed. docs/formats.md, Archive."
)
_FILES: Final = (
    "README.md", "src/main.py", "Makefile", "a.b/c-d", ".gitignore", "docs/.editorconfig", "env", "git/config",
    "head.py", ".git", ".git/config", "a/.GIT/hooks/x", ".g\u200cit/config", "\uff0egit/config", ".git./config",
    ".git::$DATA", "git~1/config", "GIT~1", "HEAD", "bare/HEAD", "bare/head", "x.pth", "a/conftest.py",
    "Conftest.PY", "desktop.ini", "menu.desktop", "AGENTS.md", "CLAUDE.local.md", ".env", ".env.local",
    "mise.toml", "\u2024env", "invoice\u202egpj.exe", "a\u200bb", "\u00e9\u200d\u200bb",
    "a\u200b\ufe0fx", "x{y}", "{\u200b}", "\u06cc\u200c\u06cc.txt",
    "\u2764\ufe0f\u200d\U0001f525.md", "1\ufe0f\u20e3.txt", "a\u200d.txt", "\u05d0\u202e\u05d1", "inert_.git_",
    "INERT_x", "inert~x", "." + "n" * 254, "." + "\u00e9" * 127, "\u1e9e.pth", "stra\u00dfe/.env",
)  # fmt: skip
_DIRECTORIES: Final = ("HEAD", "head", ".vscode", "src", "__pycache__", ".gitignore")


def _names() -> dict[str, object]:
    asked = [(path, False) for path in _FILES] + [(path, True) for path in _DIRECTORIES]
    cases = [
        {"path": path, "directory": directory, "laid_out": inert_path(path, directory=directory)}
        for path, directory in asked
    ]
    return {"about": _ABOUT, "names": cases}


FILES: Final = {"names.json": _names}
