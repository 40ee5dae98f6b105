"""The programs of examples/typescript, run as somebody does who has them from the documents."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from local_stack.stack import Stack

from tests.clients.package import programs, run_node, write_settings

_SECONDS: Final = 40.0
"""How long a program is waited for; one whose transaction a reorg has lost waits for its receipt without end."""


class ProgramFailed(Exception):
    """A program ended with an error, or did not end."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The compiled programs, in a folder whose settings name the deployment."""

    folder: Path

    def run(self, program: str, *arguments: str | Path, variables: dict[str, str]) -> str:
        """What a program prints."""
        try:
            return run_node(self.folder / program, *arguments, timeout=_SECONDS, variables=variables).strip()
        except AssertionError as failed:
            raise ProgramFailed(f"{program}: {failed}") from None
        except subprocess.TimeoutExpired:
            raise ProgramFailed(f"{program} did not end within {_SECONDS:.0f} s") from None


def programs_for(stack: Stack) -> Programs:
    """Compiled for this stack."""
    folder = programs()
    write_settings(
        folder,
        api_url=stack.api_base_url,
        rpc_url=stack.anvil.url,
        relay=stack.beacon.url,
        chain_id=stack.anvil.chain_id,
        hub_address=stack.hub.hub.address,
        info=stack.beacon.chain.info,
    )
    return Programs(folder)
