"""The file of ``poster:publish-fund --hand-over``: what a Poster signed, and the page that it is about.

It comes from somebody else, so that everything in it is read as a stranger's. No key is in it; until the signature is
over, whoever has it can create exactly this bounty from the Poster's tokens, and nothing else.
"""

import json
from dataclasses import dataclass
from typing import Final, Literal

from bounty_protocol.domain.terms import Terms
from bounty_protocol.shapes import keys, to_json
from bounty_protocol.types import Address, ChainId, HexData, parse_unix_seconds
from bounty_protocol.wire.reading import read

from service_cli.errors import CommandRefused
from service_cli.poster.funding import Authorization

MOST_BYTES: Final = 1024 * 1024
"""A page of 256 KiB, with each letter escaped, and a signature."""
_MOST_SIGNATURE: Final = 4_096
_VERSION: Final = 1
_Kind = Literal["bounty-escrow-funding"]


@dataclass(frozen=True, slots=True)
class _File:
    """The file's object: the terms in the Hub's order, the time in decimal."""

    kind: _Kind
    version: int
    chain_id: ChainId
    hub_address: Address
    poster_address: Address
    terms: tuple[str, ...]
    valid_before: str
    signature: HexData
    page: str


@dataclass(frozen=True, slots=True)
class HandOver:
    """A page, and what its Poster signed to fund it on one Hub."""

    chain_id: ChainId
    hub_address: Address
    poster: Address
    page: bytes
    signed: Authorization

    def to_text(self) -> str:
        """The file's text."""
        signed = self.signed
        file = _File(
            kind="bounty-escrow-funding",
            version=_VERSION,
            chain_id=self.chain_id,
            hub_address=self.hub_address,
            poster_address=self.poster,
            terms=tuple(signed.terms.to_args()),
            valid_before=str(signed.valid_before),
            signature=HexData(signed.signature),
            page=self.page.decode(),
        )
        return json.dumps(to_json(file), indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def from_bytes(data: bytes) -> "HandOver":
        """The file as it is read; ``hand_over_malformed`` where it is none, whatever is in it."""
        try:
            if len(data) > MOST_BYTES:
                raise ValueError("it is larger than such a file can be")
            return _read(json.loads(data.decode()))
        except (ValueError, RecursionError):
            message = "The file is none that poster:publish-fund --hand-over wrote, or it was changed."
            next_action = "Ask the Poster for the file as it was written."
            raise CommandRefused("hand_over_malformed", message, next_action=next_action) from None


def _read(value: object) -> HandOver:
    file = read(_File, value)
    if file.version != _VERSION or value.keys() != keys(_File):  # type: ignore[attr-defined]  # read as an object
        raise ValueError("of another version, or it has more than such a file")
    if len(file.signature) >= _MOST_SIGNATURE:
        raise ValueError("no signature is as long")
    terms, until = Terms.from_args(file.terms), parse_unix_seconds(file.valid_before)
    signed = Authorization(terms, until, file.signature)
    return HandOver(file.chain_id, file.hub_address, file.poster_address, file.page.encode(), signed)
