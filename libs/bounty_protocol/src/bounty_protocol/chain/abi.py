"""The Hub's ABI as typed codecs: calls to bytes, answers, errors and logs back to values.

Names, types and selectors come from the one committed ABI (``abi/Hub.json``, written by the contract build). Values are
canonical (accounts and 32-byte values lowercase hex, integers as ``int``, structs as tuples). The library that codes
what is more than words is imported on first use: it takes longer to load than most commands take to run.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Bytes32, to_bytes


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument or field: its Solidity name, its canonical type, and a struct's own fields."""

    name: str
    type: str
    indexed: bool = False
    fields: tuple["Parameter", ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the contract."""

    name: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]

    @property
    def signature(self) -> str:
        return f"{self.name}({','.join(p.type for p in self.inputs)})"

    @property
    def selector(self) -> bytes:
        return keccak256(self.signature.encode())[:4]

    def encode(self, *arguments: object) -> bytes:
        """Return the call data; it raises if an argument is not of its type."""
        if all(p.type in _WRITERS for p in self.inputs):
            words = [_WRITERS[p.type](each) for p, each in zip(self.inputs, arguments, strict=True)]
            return self.selector + b"".join(words)
        from eth_abi.abi import encode

        return self.selector + encode([p.type for p in self.inputs], arguments)

    def decode(self, data: bytes) -> tuple[object, ...]:
        """Decode return values, structs as tuples in the ABI's order; ``ValueError`` if the data has another shape."""
        return _decode(self.outputs, data)

    def decode_struct(self, data: bytes) -> dict[str, object]:
        """Decode the one struct that is returned to the snake_case names of its fields."""
        (struct,), (values,) = self.outputs, cast("tuple[tuple[object, ...]]", self.decode(data))
        return {_snake_case(each.name): value for each, value in zip(struct.fields, values, strict=True)}


@dataclass(frozen=True, slots=True)
class AbiEvent:
    """An event of the contract."""

    name: str
    inputs: tuple[Parameter, ...]
    topic: Bytes32 = field(init=False)
    _topics: tuple[Parameter, ...] = field(init=False, repr=False, compare=False)
    _data: tuple[Parameter, ...] = field(init=False, repr=False, compare=False)
    _order: tuple[tuple[str, int], ...] = field(init=False, repr=False, compare=False)
    """The snake_case name of each field, and its place among the values of the topics and then of the data."""

    def __post_init__(self) -> None:
        signature = f"{self.name}({','.join(p.type for p in self.inputs)})"
        topics = tuple(p for p in self.inputs if p.indexed)
        data = tuple(p for p in self.inputs if not p.indexed)
        places = {p.name: place for place, p in enumerate((*topics, *data))}
        derived = {
            "topic": Bytes32("0x" + keccak256(signature.encode()).hex()),
            "_topics": topics,
            "_data": data,
            "_order": tuple((_snake_case(p.name), places[p.name]) for p in self.inputs),
        }
        for name, value in derived.items():  # once, and not for each of the many logs of a backfill
            object.__setattr__(self, name, value)

    def decode(self, topics: Sequence[Bytes32], data: bytes) -> dict[str, object]:
        """Decode an event's fields to their snake_case names."""
        if len(topics) != len(self._topics) + 1 or topics[0] != self.topic:
            raise ValueError(f"not a log of {self.name}")
        values = (*_decode(self._topics, bytes.fromhex("".join(t[2:] for t in topics[1:]))), *_decode(self._data, data))
        return {name: values[place] for name, place in self._order}


@dataclass(frozen=True, slots=True)
class RevertError:
    """A custom error of the contract."""

    name: str
    inputs: tuple[Parameter, ...]

    @property
    def selector(self) -> bytes:
        return keccak256(f"{self.name}({','.join(p.type for p in self.inputs)})".encode())[:4]


@dataclass(frozen=True, slots=True)
class Abi:
    """Everything a contract's ABI names."""

    functions: Mapping[str, Function]
    events: Mapping[Bytes32, AbiEvent]
    errors: Mapping[bytes, RevertError]

    def event(self, name: str) -> AbiEvent:
        """Return the event of this name."""
        return next(event for event in self.events.values() if event.name == name)

    def revert(self, data: bytes) -> tuple[str, tuple[object, ...]] | None:
        """Return the custom error behind revert data, with its values; None for anything else."""
        error = self.errors.get(data[:4])
        if error is None:
            return None
        try:
            return error.name, _decode(error.inputs, data[4:])
        except ValueError:
            return None


@cache
def hub_abi() -> Abi:
    """Return the Hub's ABI."""
    return parse_abi((Path(__file__).parent / "abi" / "Hub.json").read_text(encoding="utf-8"))


def parse_abi(text: str) -> Abi:
    """Read a Solidity ABI."""
    entries: list[dict[str, Any]] = json.loads(text)
    functions = [
        Function(str(e["name"]), _parameters(e["inputs"]), _parameters(e["outputs"]))
        for e in entries
        if e["type"] == "function"
    ]
    events = [AbiEvent(str(e["name"]), _parameters(e["inputs"])) for e in entries if e["type"] == "event"]
    errors = [RevertError(str(e["name"]), _parameters(e["inputs"])) for e in entries if e["type"] == "error"]
    return Abi({f.name: f for f in functions}, {e.topic: e for e in events}, {e.selector: e for e in errors})


def snake_case(name: str) -> str:
    """Return ``escrowAmount`` as ``escrow_amount``."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _parameters(entries: list[dict[str, Any]]) -> tuple[Parameter, ...]:
    return tuple(_parameter(entry) for entry in entries)


def _parameter(entry: dict[str, Any]) -> Parameter:
    fields = _parameters(entry["components"]) if "components" in entry else ()
    kind = str(entry["type"])
    if fields:
        kind = kind.replace("tuple", f"({','.join(f.type for f in fields)})")
    return Parameter(str(entry["name"]), kind, bool(entry.get("indexed", False)), fields)


_snake_case = cache(snake_case)


def _decode(parameters: Sequence[Parameter], data: bytes) -> tuple[object, ...]:
    if _are_words(parameters) and len(data) == 32 * len(parameters):
        return tuple(_READERS[p.type](data[i * 32 : i * 32 + 32]) for i, p in enumerate(parameters))
    if len(parameters) == 1 and parameters[0].type.endswith(")") and _are_words(parameters[0].fields):
        return (_decode(parameters[0].fields, data),)  # a struct of words stands in place
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError

    try:
        return tuple(_canonical(value) for value in decode([p.type for p in parameters], data))
    except (DecodingError, OverflowError) as error:
        raise ValueError("data does not have the expected shape") from error


def _are_words(parameters: Sequence[Parameter]) -> bool:
    return all(p.type in _READERS for p in parameters)


def _unsigned(bits: int) -> Callable[[bytes], int]:
    def read(word: bytes) -> int:
        value = int.from_bytes(word, "big")
        if value >> bits:
            raise ValueError("data does not have the expected shape")
        return value

    return read


def _account(word: bytes) -> str:
    if any(word[:12]):
        raise ValueError("data does not have the expected shape")
    return "0x" + word[12:].hex()


def _write_unsigned(bits: int) -> Callable[[object], bytes]:
    def write(value: object) -> bytes:
        if isinstance(value, bool) or not isinstance(value, int) or value >> bits:
            raise ValueError(f"not an unsigned number of {bits} bits")
        return value.to_bytes(32, "big")

    return write


def _write_bytes(size: int, value: bytes) -> bytes:
    if len(value) != size:
        raise ValueError(f"not a value of {size} bytes")
    return value.rjust(32, b"\0")


_READERS: Final[Mapping[str, Callable[[bytes], object]]] = {
    "uint256": _unsigned(256),
    "uint8": _unsigned(8),
    "address": _account,
    "bytes32": lambda word: "0x" + word.hex(),
    "bool": lambda word: bool(_unsigned(1)(word)),
}
"""Types of one word each: read directly, several times as fast as by the library, which reads everything else."""
_WRITERS: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "uint256": _write_unsigned(256),
    "uint8": _write_unsigned(8),
    "address": lambda account: _write_bytes(20, to_bytes(account)),
    "bytes32": lambda value: _write_bytes(32, value),
}
"""The same for the arguments of calls: accounts as text, 32-byte values as bytes."""


def _canonical(value: object) -> object:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, tuple | list):
        return tuple(_canonical(item) for item in value)
    return value
