"""The ``.env`` file of the working directory: a fallback that never overrides what is exported.

Promises: ``NAME=value`` lines, optional ``export``, single or double quotes, ``#`` comments; only ``SERVICE_``
variables are taken; a malformed line is refused with its number, never with its content.
"""

import re
from pathlib import Path

from service_cli.outcome import Refused

_LINE = re.compile(
    r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*"
    r"(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<plain>[^\s'\"#]*))\s*(?:#.*)?"
)


def read_dotenv(path: Path) -> dict[str, str]:
    """The variables of the file; none when there is no file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise Refused(
            "environment_file_unreadable", f"{path} cannot be read.", next_action="Mend or remove it."
        ) from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            problem = f"Line {number} of {path} is not NAME=value."
            raise Refused("environment_file_malformed", problem, next_action="Mend that line.")
        if match["name"].startswith("SERVICE_"):
            found[match["name"]] = next(v for v in (match["single"], match["double"], match["plain"]) if v is not None)
    return found
