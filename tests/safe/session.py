"""A person whose account is a Safe, at the command line: typed data is signed by the Safe as it is asked for."""

import json
import subprocess
from pathlib import Path

from demo.person import CLIENT, TIMEOUT_SECONDS, Person

from tests.safe.wallet import SafeWallet


def run_with_safe(person: Person, safe: SafeWallet, *arguments: str) -> list[dict[str, object]]:
    """Run one command without any key in its environment; its events, once it ended well."""
    environment = {name: value for name, value in person.variables().items() if "PRIVATE_KEY" not in name}
    words = Path(person.home) / "words"
    with (
        words.open("wb") as stderr,
        subprocess.Popen(
            [CLIENT, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environment, cwd=person.home, text=True,
        ) as process,
    ):  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        events: list[dict[str, object]] = []
        for line in process.stdout:
            events.append(json.loads(line))
            if (typed := events[-1].get("typed_data")) is not None:
                assert isinstance(typed, dict)
                process.stdin.write("0x" + safe.sign_typed_data(typed).hex() + "\n")
                process.stdin.flush()
        assert process.wait(TIMEOUT_SECONDS) == 0, (events, words.read_text())
    return events
