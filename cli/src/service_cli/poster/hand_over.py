"""The file of ``poster:publish-fund --hand-over``: what a Poster signed, and the page that it is about.

It comes from somebody else, so that everything in it is read as a stranger's. No key is in it; until the signature is
over, whoever has it can create exactly this bounty from the Poster's tokens, and nothing else.
"""

import json
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.terms import Terms
from bounty_protocol.types import Address, ChainId, UnixSeconds, parse_address

from service_cli.errors import CommandRefused
from service_cli.json_values import list_of, object_of, text_of, whole_of
from service_cli.poster.funding import Authorization

MOST_BYTES: Final = 1024 * 1024
"""A page of 256 KiB, with each letter escaped, and a signature."""
_MOST_SIGNATURE: Final = 4_096
_KIND: Final = "bounty-escrow-funding"
_VERSION: Final = 1


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
        signed = self.signed.to_json()
        value = {
            "kind": _KIND,
            "version": _VERSION,
            "chain_id": self.chain_id,
            "hub_address": self.hub_address,
            "poster_address": self.poster,
            "terms": signed["terms"],
            "valid_before": signed["valid_before"],
            "signature": f"0x{self.signed.signature.hex()}",
            "page": self.page.decode(),
        }
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def from_bytes(data: bytes) -> "HandOver":
        """The file as it is read; ``hand_over_malformed`` where it is none, whatever is in it."""
        try:
            if len(data) > MOST_BYTES:
                raise ValueError("it is larger than such a file can be")
            return _read(object_of(json.loads(data.decode())))
        except (ValueError, TypeError, KeyError, RecursionError):
            message = "The file is none that poster:publish-fund --hand-over wrote, or it was changed."
            next_action = "Ask the Poster for the file as it was written."
            raise CommandRefused("hand_over_malformed", message, next_action=next_action) from None


def _read(value: dict[str, object]) -> HandOver:
    if (value["kind"], value["version"]) != (_KIND, _VERSION) or len(value) != 9:
        raise ValueError("another kind of file")
    signature = text_of(value["signature"])
    if not signature.startswith("0x") or len(signature) > 2 * _MOST_SIGNATURE:
        raise ValueError("no signature")
    terms = Terms.from_args(list_of(value["terms"]))
    signed = Authorization(terms, UnixSeconds(whole_of(value["valid_before"])), bytes.fromhex(signature[2:]))
    chain_id = value["chain_id"]
    if not isinstance(chain_id, int) or isinstance(chain_id, bool):
        raise TypeError("no chain id")
    hub, poster = parse_address(text_of(value["hub_address"])), parse_address(text_of(value["poster_address"]))
    return HandOver(ChainId(chain_id), hub, poster, text_of(value["page"]).encode(), signed)
