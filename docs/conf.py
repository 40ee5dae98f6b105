"""How Sphinx makes the site: ``./noxw -s docs``.

The pages stay plain Markdown. The README's table of links is the navigation: each of its rows is a part, with the pages
that it links, in that order; what ``tools/reference`` makes of the code is the part "Reference". A page that nothing
links is an orphan. That ends the build, as a broken link or an unknown anchor does.
"""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

TOP = Path(__file__).parents[1]
REFERENCES = ["commands", "events", "errors", "settings", "rest", "python", "typescript/README", "hub"]
"""What ``tools/reference`` makes of code into docs/reference."""
FURTHER = ["CONTRIBUTING", "SECURITY", "CHANGELOG", "deploy/compose/README", "deploy/local/README", "tests/README"]
TYPESCRIPT = "docs/reference/typescript/README"

project = "Bounty Escrow Service"
html_title = project
author = "the contributors"
project_copyright = "the contributors, Apache License 2.0"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = [
    *["*.md", "docs/*.md", "docs/**/*.md"],
    *["deploy/compose/README.md", "deploy/local/README.md", "tests/README.md"],
]
exclude_patterns = [
    ".*", "**/node_modules", "bench", "cli", "clients", "contracts", "examples", "libs", "requirements", "services",
    "tests/[a-z_]*", "tools",
]  # fmt: skip
"""Where no page is: the walk through the folders is most of what a build of nothing takes."""
nitpicky = True
myst_heading_anchors = 6
html_theme = "furo"
html_use_index = False
html_domain_indices = False
html_search_scorer = str(TOP / "docs/search.js")
html_copy_source = False
html_show_sphinx = False


def setup(app: Sphinx) -> None:
    """What the pages need beside the settings above."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", add_files)


def add_navigation(_: Sphinx, docname: str, source: list[str]) -> None:
    """Append what Sphinx calls toctrees to the first page, and to the list that typedoc makes."""
    if docname == TYPESCRIPT:
        source[0] += toctree("", [f"/docs/reference/typescript/{name}" for name in modules()])
    if docname != root_doc:
        return
    for part, text in re.findall(r"(?m)^\| \*\*([\w ]+)\*\* \| (.*\]\(docs/[\w-]+\.md\).*) \|$", source[0]):
        source[0] += toctree(part, [f"/docs/{name}" for name in re.findall(r"\]\(docs/([\w-]+)\.md\)", text)])
    source[0] += toctree("Reference", [f"/docs/reference/{name}" for name in REFERENCES])
    source[0] += toctree("Contribute", [f"/{name}" for name in FURTHER])
    source[0] += toctree("Decisions", [f"/docs/adr/{path.stem}" for path in sorted(TOP.glob("docs/adr/*.md"))])


def toctree(caption: str, pages: list[str]) -> str:
    """Return a hidden table of contents of these pages."""
    named = f":caption: {caption}\n" if caption else ""
    return "\n\n```{toctree}\n:hidden:\n" + named + "\n".join(pages) + "\n```\n"


def modules() -> list[str]:
    """Return the pages that typedoc has made, besides their list."""
    return sorted(path.stem for path in TOP.glob("docs/reference/typescript/*.md") if path.stem != "README")


def add_files(app: Sphinx, exception: Exception | None) -> None:
    """The pictures that a page shows by HTML of its own, which Sphinx does not see, and the site's first page."""
    if exception is None:
        shutil.copytree(TOP / "docs/pages", app.outdir / "docs/pages", dirs_exist_ok=True)
        first = f"{root_doc}.html"
        head = f'<!doctype html><meta charset="utf-8"><title>{project}</title>'
        body = f'<meta http-equiv="refresh" content="0; url={first}"><a href="{first}">{project}</a>'
        (app.outdir / "index.html").write_text(f"{head}{body}\n", encoding="utf-8")
