"""The example page and work that the demo and the end-to-end tests use."""

import re
import shutil
from pathlib import Path
from typing import Final

EXAMPLES: Final = Path(__file__).parents[3] / "examples"


def challenge_page(folder: Path, *, submission_deadline: int, judging_window_seconds: int, title: str = "") -> Path:
    """Return the example page with a deadline of now: a page states its deadline as a moment."""
    page = (EXAMPLES / "bounty_challenge.md").read_text(encoding="utf-8")
    page = re.sub(r"(?m)^submission_deadline: \d+$", f"submission_deadline: {submission_deadline}", page)
    page = re.sub(r"(?m)^judging_window_seconds: \d+$", f"judging_window_seconds: {judging_window_seconds}", page)
    if title:
        page = re.sub(r"(?m)^title: .*$", f"title: {title}", page)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "bounty_challenge.md"
    path.write_text(page, encoding="utf-8")
    return path


def artifact(folder: Path, *, note: str = "") -> Path:
    """Return the example work, copied; ``note`` makes one Solver's differ from another's."""
    target = folder / "artifact"
    shutil.copytree(EXAMPLES / "artifact", target)
    if note:
        with (target / "NOTES.md").open("a", encoding="utf-8") as file:
            file.write(f"\n{note}\n")
    return target


def same_files(left: Path, right: Path) -> bool:
    """Return whether both directories hold the same files with the same bytes."""
    return _contents(left) == _contents(right)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
