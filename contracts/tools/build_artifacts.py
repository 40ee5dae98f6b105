#!/usr/bin/env python3
"""Builds contracts/artifacts from contracts/src and contracts/calls, bit for bit the same on every machine.

Each artifact is compiled by the pinned compiler (tools/solc) from exactly the sources its contract imports,
with SETTINGS, those of foundry.toml. `--check` writes nothing, rebuilds, and
exits 1 with one line for each file that differs.
Refuses: an import outside these two, a compiler warning, another compiler version than the sources' pragma, an argument
or a value of the Hub's interface without NatSpec.

    build_artifacts.py [--check] [--node NODE] [--abi-out FILE]
    build_artifacts.py --input-out FILE        the standard JSON input with which a block explorer verifies the Hub
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import typing

from clear_signing import descriptors

CONTRACTS = pathlib.Path(__file__).resolve().parent.parent
ARTIFACTS = CONTRACTS / "artifacts"
SOURCES = {
    "Hub": "src/Hub.sol",
    "SignatureValidator": "calls/SignatureValidator.sol",
}
SETTINGS: dict[str, typing.Any] = {
    "optimizer": {"enabled": True, "runs": 1_000_000},
    "viaIR": True,
    "evmVersion": "cancun",
    "metadata": {"bytecodeHash": "ipfs", "appendCBOR": True},  # explorers then match comments and names, too
}
OUTPUTS = [
    "abi",
    "storageLayout",
    "evm.bytecode.object",
    "evm.deployedBytecode.object",
    "evm.deployedBytecode.immutableReferences",
]
INTERFACE = ("src/IHub.sol", "IHub")
"""Where NatSpec describes each function; the Hub inherits it."""
IMPORT = re.compile(r'^import\s[^"]*"([^"]+)"', re.MULTILINE)


def closure(entry: str) -> dict[str, str]:
    """The entry and everything it imports: path under contracts/ -> text."""
    found: dict[str, str] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        if not name.startswith(("src/", "calls/")):
            raise SystemExit(f"{name} is imported but stands neither under src/ nor calls/")
        found[name] = (CONTRACTS / name).read_text(encoding="utf-8")
        for target in IMPORT.findall(found[name]):
            beside = (CONTRACTS / name).parent / target
            waiting.append(pathlib.Path(os.path.relpath(beside.resolve(), CONTRACTS)).as_posix())
    return dict(sorted(found.items()))


def run_compiler(node: str, *arguments: str, stdin: str = "") -> str:
    """The answer of tools/solc; ends the program when it fails."""
    command = [node, str(CONTRACTS / "tools" / "solc"), *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise SystemExit(f"the compiler failed: {done.stderr.strip()}")
    return done.stdout


def compiler_input(contract: str) -> dict[str, typing.Any]:
    """The standard JSON input, which is also what a block explorer takes to verify the source."""
    return {
        "language": "Solidity",
        "sources": {name: {"content": text} for name, text in closure(SOURCES[contract]).items()},
        "settings": {**SETTINGS, "outputSelection": {SOURCES[contract]: {contract: OUTPUTS}}},
    }


def storage_words(layout: dict[str, typing.Any]) -> dict[str, typing.Any]:
    """Where each variable and each field of a struct is stored, without the compiler's own numbers."""
    kinds = layout["types"] or {}
    structs = [kind for kind in kinds.values() if "members" in kind]
    return {
        "variables": [place(variable, kinds) for variable in layout["storage"]],
        "structs": {kind["label"]: [place(member, kinds) for member in kind["members"]] for kind in structs},
    }


def place(variable: dict[str, typing.Any], kinds: dict[str, typing.Any]) -> str:
    kind = kinds[variable["type"]]
    first, size = 8 * variable["offset"], 8 * int(kind["numberOfBytes"])
    bits = f", bits {first} to {first + size - 1}" if size < 256 else ""
    return f"word {variable['slot']}{bits}: {kind['label']} {variable['label']}"


def build(node: str, version: str, contract: str) -> dict[str, typing.Any]:
    """One artifact, ready to be written."""
    answer = json.loads(run_compiler(node, "--standard-json", stdin=json.dumps(compiler_input(contract))))
    if answer.get("errors"):
        raise SystemExit("\n".join(error["formattedMessage"] for error in answer["errors"]))
    built = answer["contracts"][SOURCES[contract]][contract]
    return {
        "contractName": contract,
        "abi": sorted(built["abi"], key=abi_order),
        "bytecode": "0x" + built["evm"]["bytecode"]["object"],
        "deployedBytecode": "0x" + built["evm"]["deployedBytecode"]["object"],
        "immutableReferences": built["evm"]["deployedBytecode"]["immutableReferences"],
        "storage": storage_words(built["storageLayout"]),
        "compiler": {"version": version, "settings": SETTINGS},
        "sourceHashes": {
            name: hashlib.sha256(text.encode()).hexdigest() for name, text in closure(SOURCES[contract]).items()
        },
    }


def deployed_hubs() -> list[tuple[int, str]]:
    """Chain and address of the Hub of each network that has one."""
    from bounty_protocol.chain.deployment import NETWORKS, deployment_of  # what only verifies a Hub has no packages

    records = {chain_id: deployment_of(chain_id) for chain_id in NETWORKS.values()}
    return [(chain, record.hub_address) for chain, record in records.items() if record and record.hub_address]


def undocumented(node: str) -> list[str]:
    """The functions of which NatSpec describes not every argument by `@param`, or not every value by `@return`."""
    file, name = INTERFACE
    sources = {path: {"content": text} for path, text in closure(file).items()}
    wanted = {
        "language": "Solidity",
        "sources": sources,
        "settings": {"outputSelection": {file: {name: ["abi", "devdoc"]}}},
    }
    built = json.loads(run_compiler(node, "--standard-json", stdin=json.dumps(wanted)))["contracts"][file][name]
    functions = [entry for entry in built["abi"] if entry["type"] == "function"]
    described = {entry["name"]: built["devdoc"]["methods"].get(signature_of(entry), {}) for entry in functions}
    return [
        entry["name"]
        for entry in functions
        if {each["name"] for each in entry["inputs"]} != set(described[entry["name"]].get("params", {}))
        or len(entry["outputs"]) != len(described[entry["name"]].get("returns", {}))
    ]


def signature_of(entry: dict[str, typing.Any]) -> str:
    return f"{entry['name']}({','.join(map(type_of, entry['inputs']))})"


def type_of(value: dict[str, typing.Any]) -> str:
    fields = f"({','.join(map(type_of, value['components']))})" if "components" in value else ""
    return str(value["type"]).replace("tuple", fields) if fields else str(value["type"])


def abi_order(entry: dict[str, typing.Any]) -> tuple[str, str, str]:
    """Constructor, errors, events, functions; each by name, overloads by their inputs."""
    inputs = json.dumps(entry.get("inputs", []), sort_keys=True)
    return (entry["type"], entry.get("name", ""), inputs)


def pretty(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the committed contract artifacts.")
    parser.add_argument(
        "--check", action="store_true", help="compare instead of writing; exit 1 when something differs"
    )
    parser.add_argument("--node", default=os.environ.get("NODE", "node"), help="the node to run the compiler with")
    parser.add_argument(
        "--abi-out", type=pathlib.Path, action="append", default=[], help="a further file for the Hub's ABI"
    )
    parser.add_argument("--out", type=pathlib.Path, default=ARTIFACTS, help="another folder for the artifacts")
    parser.add_argument("--input-out", type=pathlib.Path, help="only write what verifies the Hub's source, and end")
    options = parser.parse_args()

    if options.input_out:
        options.input_out.write_text(pretty(compiler_input("Hub")), encoding="utf-8")
        return 0
    if missing := undocumented(options.node):
        raise SystemExit(f"NatSpec of the interface describes not every argument or value of {', '.join(missing)}")
    version = run_compiler(options.node, "--version").split("Version: ")[1].strip()
    files: dict[pathlib.Path, str] = {}
    for contract in SOURCES:
        artifact = build(options.node, version, contract)
        files[options.out / f"{contract}.json"] = pretty(artifact)
        if contract == "Hub":
            for path in (options.out / "Hub.abi.json", *options.abi_out):
                files[path] = pretty(artifact["abi"])
            for name, descriptor in descriptors(artifact["abi"], deployed_hubs()).items():
                files[options.out / name] = json.dumps(descriptor, indent=2) + "\n"

    differing = 0
    for path, text in files.items():
        present = path.read_text(encoding="utf-8") if path.exists() else None
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif present != text:
            differing += 1
            what = "is missing" if present is None else "differs from what its sources compile to"
            print(f"{path.name} {what}; run contracts/tools/build_artifacts.py", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
