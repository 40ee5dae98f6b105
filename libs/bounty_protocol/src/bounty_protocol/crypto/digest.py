"""SHA-256 of a stream, kept by a second thread (see ``background``)."""

import hashlib

from bounty_protocol.crypto.age_stream import Block
from bounty_protocol.crypto.background import Background
from bounty_protocol.types import Bytes32, bytes32


class BackgroundSha256(Background[Block]):
    """``update`` from one thread, ``value`` at any time."""

    def __init__(self) -> None:
        digest = hashlib.sha256()
        super().__init__(digest.update, "sha256")
        self._digest = digest

    def update(self, data: Block) -> None:
        """Take a block; see ``Background.give`` for when it may be reused."""
        self.give(data)

    def value(self) -> Bytes32:
        """Return the digest of everything given so far; waits until all of it is hashed."""
        self.finish()
        return bytes32(self._digest.digest())
