"""docs/audit.md: what the sources, the artifact, the proofs and the planted changes count and name."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Final

from tools.generate.derived import TOP, part, table

_CONTRACTS: Final = TOP / "contracts"
_SIZE_LIMIT: Final = 24_576
_LEMMA: Final = re.compile(r"function (check_\w+)\(")
_COUNTED: Final = re.compile(r"(\d+) mutants, \d+ covered")


def _rows() -> Iterator[str]:
    hub = json.loads((_CONTRACTS / "artifacts/Hub.json").read_text(encoding="utf-8"))
    texts = [(_CONTRACTS / name).read_text(encoding="utf-8") for name in hub["sourceHashes"]]
    settings, version = hub["compiler"]["settings"], hub["compiler"]["version"].partition("+")[0]
    pipeline = "by the IR" if settings["viaIR"] else "without the IR"
    size = len(hub["deployedBytecode"]) // 2 - 1
    equivalent = tomllib.loads((_CONTRACTS / "mutants/equivalent.toml").read_text(encoding="utf-8"))["equivalent"]
    yield f"| sources | {len(texts)} files, {sum(text.count(chr(10)) for text in texts):,} lines |"
    yield (
        f"| compiler | {version}, {pipeline}, {settings['optimizer']['runs']:,} optimizer runs, "
        f"EVM version {settings['evmVersion']} |"
    )
    yield f"| deployed code | {size:,} bytes, {_SIZE_LIMIT - size:,} below the limit of {_SIZE_LIMIT:,} |"
    yield f"| planted bugs | {len(list((_CONTRACTS / 'mutants').glob('*.patch')))}, all caught |"
    yield f"| small changes | {_small_changes():,}; of {len(equivalent)} it is known that no caller can see them |"
    for page in sorted((_CONTRACTS / "proofs").glob("*.t.sol")):
        lemmas = _LEMMA.findall(page.read_text(encoding="utf-8"))
        yield f"| lemmas of `{page.name}` | {len(lemmas)}: {', '.join(f'`{name}`' for name in lemmas)} |"


def _small_changes() -> int:
    """Return how many changes ``mutate.py`` makes; it runs none of them."""
    command = [sys.executable, str(_CONTRACTS / "tools/mutate.py"), "--limit", "0"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = _COUNTED.search(said)
    if found is None:
        raise SystemExit(f"contracts/tools/mutate.py does not count its changes: {said[-500:]}")
    return int(found.group(1))


def _figures() -> Iterator[str]:
    yield table("| what | |", _rows())


AUDIT: Final = part("docs/audit.md", "audit", _figures)
