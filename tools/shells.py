"""``./noxw -s nightly -- shells``: press Tab in zsh and fish, as ``tests/cli/ui/test_completion.py`` does in bash.

    python tools/shells.py

Debian's packages of both shells are unpacked below ``.local/shells``, of the release that this machine runs; nothing is
installed. Exit code 1 where a line becomes another one than it should, and 77 where the packages cannot be had.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.cli.ui.typed import typed
from tools.debian import NoPackage, unpacked
from tools.image_folders import TOP
from tools.images import NOT_RUN

FOLDER: Final = TOP / ".local/shells/root"
PACKAGES: Final = ("zsh", "zsh-common", "fish", "fish-common", "libpcre2-32-0")
BIN: Final = Path(sys.executable).parent
CASES: Final[Mapping[str, str]] = {
    "service-cli poster:check not": "service-cli poster:check notes.md",
    "service-cli solver:submit 7 wor": "service-cli solver:submit 7 work/",
    "service-cli --network stag": "service-cli --network staging",
    "service-cli help guardian:heart": "service-cli help guardian:heartbeat",
    "service-cli guardian:heart": "service-cli guardian:heartbeat",
    "service-cli bounty:show 47": "service-cli bounty:show 4711",
}
"""Typed text, and the text after Tab."""


def main() -> int:
    """Both shells, every line."""
    try:
        root = unpacked(FOLDER, PACKAGES)
    except NoPackage as reason:
        print(f"not run: {reason}")
        return NOT_RUN
    with tempfile.TemporaryDirectory() as scratch:
        environment = _prepared(Path(scratch))
        wrong = [*_in_zsh(root, Path(scratch), environment), *_in_fish(root, Path(scratch), environment)]
    for line in wrong:
        print(f"FAILED: {line}")
    print(f"{2 * len(CASES) - len(wrong)} of {2 * len(CASES)} lines are completed, in zsh and in fish")
    return 1 if wrong else 0


def _prepared(scratch: Path) -> dict[str, str]:
    """A folder to type in, a home that knows one bounty, and the scripts of both shells."""
    for name in ("here", "home", "here/work"):
        (scratch / name).mkdir()
    (scratch / "here/notes.md").touch()
    state = scratch / "home/state/service-cli" / f"31337-0x{'ab' * 20}" / "opened-4711-x-y"
    state.mkdir(parents=True)
    home = {"HOME": str(scratch / "home"), "XDG_STATE_HOME": str(scratch / "home/state")}
    environment = {**home, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    for shell in ("zsh", "fish"):
        words = [str(BIN / "service-cli"), "completion", shell]
        done = subprocess.run(words, env=environment, capture_output=True, check=True)
        (scratch / shell).write_bytes(done.stdout)
    return environment


def _in_zsh(root: Path, scratch: Path, environment: Mapping[str, str]) -> Iterator[str]:
    functions, modules = root / "usr/share/zsh/functions", root / "usr/lib/x86_64-linux-gnu/zsh"
    (scratch / "home/.zshrc").write_text(
        f"module_path=({next(modules.iterdir())})\nfpath=({functions} {functions}/**/*(/))\nbindkey -e\n"
        f"unsetopt auto_remove_slash\nautoload -U compinit\ncompinit -u -D\nsource {scratch / 'zsh'}\n"
    )
    module_path = {"ZDOTDIR": str(scratch / "home")}
    with typed([str(root / "bin/zsh"), "-i"], {**environment, **module_path}, scratch / "here", scratch) as shell:
        for line, expected in CASES.items():
            if (found := shell.completed(line)) != expected:
                yield f"zsh: {line!r} becomes {found!r}"


def _in_fish(root: Path, scratch: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """By ``complete -C``, which is what Tab does there."""
    library = f"LD_LIBRARY_PATH={root / 'usr/lib/x86_64-linux-gnu'}"
    start = f"set -e LD_LIBRARY_PATH; set -g fish_function_path {root / 'usr/share/fish/functions'}; "
    start += f"source {scratch / 'fish'}; complete -C "
    for line, expected in CASES.items():
        words = ["env", library, str(root / "usr/bin/fish"), "-N", "-c", f"{start}'{line}'"]
        done = subprocess.run(
            words, env=environment, cwd=scratch / "here", capture_output=True, text=True, check=False, timeout=60
        )
        offered = [each.partition("\t")[0] for each in done.stdout.splitlines() if each]
        if offered != [expected.rpartition(" ")[2]]:
            yield f"fish: {line!r} offers {offered} {done.stderr[-500:]}"


if __name__ == "__main__":
    raise SystemExit(main())
