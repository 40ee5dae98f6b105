#!/usr/bin/env python3
"""Compares the code of a deployed Hub with its source, by nothing but the pinned compiler.

The standard JSON input is compiled anew. The code at the address must be what comes out, byte for byte, but for the
immutables, which the constructor filled in: their values are printed by name, to be compared with the terms that were
announced. The code ends with the hash of its metadata, which names compiler, settings and the hash of each source, so
that comments and names are covered, too. Exit 0 where it is the same, 1 with one line where it is not.

    build_artifacts.py --input-out hub-input.json
    curl … eth_getCode … > hub-code.json            the node's whole answer, or the code as hex
    verify.py hub-input.json hub-code.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import sys
import typing

from build_artifacts import run_compiler

HUB = ("src/Hub.sol", "Hub")
OUTPUTS = {
    "*": {
        "": ["ast"],
        "*": ["metadata", "evm.deployedBytecode.object", "evm.deployedBytecode.immutableReferences"],
    }
}


class Differs(Exception):
    """The code is not what the source compiles to."""


def compiled(source: dict[str, typing.Any], node: str) -> dict[str, typing.Any]:
    """The compiler's whole answer to a standard JSON input."""
    wanted = {**source, "settings": {**source["settings"], "outputSelection": OUTPUTS}}
    answer: dict[str, typing.Any] = json.loads(run_compiler(node, "--standard-json", stdin=json.dumps(wanted)))
    if answer.get("errors"):
        raise Differs("the source does not compile: " + answer["errors"][0]["formattedMessage"])
    return answer


def immutables(answer: dict[str, typing.Any], code: bytes) -> dict[str, str]:
    """The value that each immutable has in the code, by the name of its variable.

    Raises:
        Differs: a value is not the same in all its places.
    """
    names = {
        str(node["id"]): node["name"]
        for file in answer["sources"].values()
        for part in file["ast"]["nodes"]
        for node in part.get("nodes", [])
        if node.get("mutability") == "immutable"
    }
    values: dict[str, str] = {}
    for number, places in hub_of(answer)["immutableReferences"].items():
        found = {code[place["start"] : place["start"] + place["length"]].hex() for place in places}
        if len(found) != 1:
            raise Differs(f"the immutable {names[number]} has several values")
        values[names[number]] = "0x" + found.pop()
    return values


def compare(answer: dict[str, typing.Any], code: bytes) -> None:
    """
    Raises:
        Differs: with the first byte that is not the same.
    """
    expected = bytes.fromhex(hub_of(answer)["object"])
    if len(code) != len(expected):
        raise Differs(f"the code has {len(code)} bytes, the source compiles to {len(expected)}")
    filled = bytearray(code)
    for places in hub_of(answer)["immutableReferences"].values():
        for place in places:
            filled[place["start"] : place["start"] + place["length"]] = bytes(place["length"])
    for position, (found, wanted) in enumerate(zip(filled, expected, strict=True)):
        if found != wanted:
            raise Differs(f"byte {position} of the code is {found:#04x}, not {wanted:#04x}")
    if ipfs_digest(answer["contracts"][HUB[0]][HUB[1]]["metadata"].encode()) not in code:
        raise Differs("the code does not end with the hash of its metadata")


def ipfs_digest(content: bytes) -> bytes:
    """The hash by which IPFS names a file of one block: sha256 of the file in UnixFS, in a protobuf node."""
    size = varint(len(content))
    file = b"\x08\x02\x12" + size + content + b"\x18" + size
    return hashlib.sha256(b"\x0a" + varint(len(file)) + file).digest()


def varint(number: int) -> bytes:
    head = []
    while number >= 0x80:
        head.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*head, number])


def hub_of(answer: dict[str, typing.Any]) -> dict[str, typing.Any]:
    deployed: dict[str, typing.Any] = answer["contracts"][HUB[0]][HUB[1]]["evm"]["deployedBytecode"]
    return deployed


def read_code(path: pathlib.Path) -> bytes:
    """The code in a file: hex, or the answer of a node to ``eth_getCode``.

    Raises:
        Differs: there is none.
    """
    text = path.read_text(encoding="ascii").strip()
    found = json.loads(text).get("result") if text.startswith("{") else text
    try:
        code = bytes.fromhex(str(found).removeprefix("0x"))
    except ValueError:
        code = b""
    if not code:
        raise Differs(f"{path} has no code: ask another node, and look at the address and the chain")
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare a deployed Hub with its source.")
    parser.add_argument("input", type=pathlib.Path, help="the standard JSON input")
    parser.add_argument("code", type=pathlib.Path, help="the code at the address, as eth_getCode answers it")
    parser.add_argument("--node", default=os.environ.get("NODE", "node"), help="the node to run the compiler with")
    options = parser.parse_args()
    try:
        code = read_code(options.code)
        answer = compiled(json.loads(options.input.read_text(encoding="utf-8")), options.node)
        compare(answer, code)
        values = immutables(answer, code)
    except Differs as difference:
        print(difference, file=sys.stderr)
        return 1
    print(f"the same: {len(code)} bytes, with the hash of the metadata")
    for name, value in sorted(values.items()):
        print(f"{name:<22}{value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
