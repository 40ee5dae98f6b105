"""Every file of vectors by its name, and what makes it; ``./noxw -s generate`` writes them."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.vectors import (
    build_auth,
    build_documents,
    build_hashes,
    build_names,
    build_sealing,
    build_witnesses,
)

HERE: Final = Path(__file__).parent
FILES: Final[dict[str, Callable[[], dict[str, object]]]] = (
    build_hashes.FILES
    | build_documents.FILES
    | build_sealing.FILES
    | build_names.FILES
    | build_auth.FILES
    | build_witnesses.FILES
)
