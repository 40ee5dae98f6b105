"""The ``.env`` file of the working directory: a fallback that never overrides what is exported.

Promises: ``NAME=value`` lines, optional ``export``, single or double quotes, ``#`` comments; only ``SERVICE_``
variables are taken; a malformed line is refused with its number, never with its content; a file that holds a key and
that others can read is told.
"""

import re
from pathlib import Path

from service_cli.key_files import Unusable, read_small
from service_cli.outcome import Refused
from service_cli.output import warn

_LINE = re.compile(
    r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*"
    r"(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<plain>[^\s'\"#]*))\s*(?:#.*)?"
)

_KEY = re.compile(r"SERVICE_\w*PRIVATE_KEYS?(?:_JSON)?")


def read_dotenv(path: Path) -> dict[str, str]:
    """The variables of the file; none when there is no file."""
    try:
        text, exposed = read_small(path)
    except FileNotFoundError:
        return {}
    except Unusable as error:
        raise Refused("environment_file_unreadable", f"{path} {error}.", next_action="Mend or remove it.") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            problem = f"Line {number} of {path} is not NAME=value."
            raise Refused("environment_file_malformed", problem, next_action="Mend that line.")
        if match["name"].startswith("SERVICE_"):
            found[match["name"]] = next(v for v in (match["single"], match["double"], match["plain"]) if v is not None)
    keys = [name for name in found if found[name] and _KEY.fullmatch(name)]
    if exposed and keys:
        warn(f"warning: {path} holds {', '.join(keys)} and can be read by other users; chmod 600 it")
    return found
