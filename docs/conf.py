"""How Sphinx makes the site: ``./noxw -s docs``.

The pages stay plain Markdown. ``docs/README.md`` is the table of contents: each of its headings is a part of the
navigation, with the pages that the table below it links, in that order. A page that it does not link is an orphan. That
ends the build, as a broken link or an unknown anchor does.
"""

import re
import shutil
from pathlib import Path, PurePosixPath

from sphinx.application import Sphinx

TOP = Path(__file__).parents[1]
LISTS = {"docs/README", "docs/adr/README", "docs/reference/typescript/README"}
"""The pages whose links are the navigation."""
REFERENCES = {"Take part": ["commands"], "Build": ["rest", "python", "typescript/README", "hub"]}
"""What tools/reference.py makes of code into docs/reference, by the part at whose end it is."""

project = "Bounty Escrow Service"
html_title = project
author = "the contributors"
project_copyright = "the contributors, Apache License 2.0"
extensions = ["myst_parser"]
root_doc = "docs/README"
include_patterns = ["*.md", "docs/*.md", "docs/**/*.md", "deploy/compose/README.md", "deploy/local/README.md"]
exclude_patterns = [
    ".*", "**/node_modules", "bench", "cli", "clients", "contracts", "examples", "libs", "requirements", "services",
    "tests", "tools",
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
    """Append what Sphinx calls a toctree to a list of pages: one for each heading."""
    if docname not in LISTS:
        return
    folder = PurePosixPath("/", docname).parent
    for part in re.split(r"(?m)^## ", source[0]):
        caption, _, text = part.partition("\n")
        named = f":caption: {caption}\n" if docname == root_doc else ""
        pages = [resolved(folder / link) for link in re.findall(r"\]\(([^):#]+\.md)\)", text)]
        if named:
            pages += [f"/docs/reference/{name}" for name in REFERENCES.get(caption, ())]
        if pages:
            source[0] += "\n\n```{toctree}\n:hidden:\n" + named + "\n".join(pages) + "\n```\n"


def resolved(path: PurePosixPath) -> str:
    """The name of a page without ``..`` and ``.md``."""
    parts: list[str] = []
    for part in path.with_suffix("").parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/" + "/".join(parts[1:])


def add_files(app: Sphinx, exception: Exception | None) -> None:
    """The pictures that a page shows by HTML of its own, which Sphinx does not see, and the site's first page."""
    if exception is None:
        shutil.copytree(TOP / "docs/pages", app.outdir / "docs/pages", dirs_exist_ok=True)
        first = f"{root_doc}.html"
        head = f'<!doctype html><meta charset="utf-8"><title>{project}</title>'
        body = f'<meta http-equiv="refresh" content="0; url={first}"><a href="{first}">{project}</a>'
        (app.outdir / "index.html").write_text(f"{head}{body}\n", encoding="utf-8")
