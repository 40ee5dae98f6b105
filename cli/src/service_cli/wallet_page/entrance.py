"""How the person at this machine gets into the page, and nobody else of it: with a code that no argument has.

Every user of the machine can read the arguments of the program that opens a browser, so the address in them has nothing
secret. At a terminal the code is shown there, and typed on the page. A caller that is no terminal would get it as data;
there the browser opens a private file instead, which leads to the page with the code behind a ``#``. The file is where
a browser in a snap or a flatpak may read, too: in a directory of the home that is not hidden.
"""

import os
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from service_cli.shell.output import is_redirected

_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH: Final = 8
_ALIKE: Final = str.maketrans("OIL", "011")
_PREFIX: Final = "service-cli-wallet-"
_OLD_SECONDS: Final = 24 * 3600
_PAGE: Final = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>service-cli and your wallet</title>
<p><a href="{address}">Go on to the page of service-cli</a></p>
"""


def new_code() -> str:
    """40 bits, in letters that are not taken for others: ``K7QF-4PX2``."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return f"{letters[:4]}-{letters[4:]}"


def is_same_code(one: str, other: str) -> bool:
    """Whether a person meant this code: letter case, dashes and spaces do not count."""
    return secrets.compare_digest(_plain(one), _plain(other))


def _plain(code: str) -> bytes:
    return re.sub(r"[\s-]", "", code[:40]).upper().translate(_ALIKE).encode("utf-8", "replace")


def shows_code() -> bool:
    """Whether what is printed for people is on a terminal, and not with a program."""
    return not is_redirected() and sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def private_file(address: str, code: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """A file that leads to the page, readable by its owner alone; it is gone afterwards."""
    home = environment.get("HOME", "")
    _remove_old(Path(home or tempfile.gettempdir()))
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=home or None))
    except OSError:  # a home that nothing can be written to
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        file = folder / "open.html"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(_PAGE.format(address=f"{address}#{code}"))
        yield file
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_old(home: Path) -> None:
    """Remove the leftovers of killed runs."""
    with suppress(OSError):
        for folder in home.glob(f"{_PREFIX}*"):
            status = folder.lstat()
            if status.st_uid == os.getuid() and status.st_mtime < time.time() - _OLD_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
