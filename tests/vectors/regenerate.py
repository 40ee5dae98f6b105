"""Write every vector file again: ``PYTHONPATH=.:deploy/local python tests/vectors/regenerate.py``.

Deterministic: a run changes nothing unless a format changed, and a test compares. ``--check`` only reports.
Each file says in ``about`` what its cases mean; see ``docs/formats.md`` and ``docs/authentication.md``.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.vectors import build_auth, build_documents, build_hashes, build_names, build_sealing, build_witnesses

HERE: Final = Path(__file__).parent
Builder = Callable[[], dict[str, object]]
FILES: Final[dict[str, Builder]] = (
    build_hashes.FILES
    | build_documents.FILES
    | build_sealing.FILES
    | build_names.FILES
    | build_auth.FILES
    | build_witnesses.FILES
)


def render(value: dict[str, object]) -> str:
    """A vector file's text."""
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"


def stale() -> list[str]:
    """Files that would change."""
    return [name for name, build in FILES.items() if _current(name) != render(build())]


def _current(name: str) -> str | None:
    path = HERE / name
    return path.read_text(encoding="utf-8") if path.exists() else None


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description="Write the test vectors again.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    names = stale()
    if parser.parse_args().check:
        print("\n".join(names))
        return 1 if names else 0
    for name in names:
        (HERE / name).write_text(render(FILES[name]()), encoding="utf-8")
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
