"""tests/vectors/*.json: every format with accepted and rejected cases, for this implementation and for others.

Each file has in ``about`` what its cases mean; see ``docs/formats.md`` and ``docs/authentication.md``. They change only
where a format does.
"""

import json
from collections.abc import Mapping
from typing import Final

from tests.vectors.files import FILES
from tools.generate.derived import Derived

_FOLDER: Final = "tests/vectors"


def _contents() -> Mapping[str, bytes]:
    made = {name: json.dumps(build(), indent=2, ensure_ascii=True) + "\n" for name, build in FILES.items()}
    return {f"{_FOLDER}/{name}": text.encode() for name, text in made.items()}


VECTORS: Final = Derived("vectors", _contents)
