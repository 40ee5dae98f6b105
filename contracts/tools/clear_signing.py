"""The words of a hardware wallet for a call to the Hub and a signed request, as ERC-7730 has it (version 1).

The words stand here; signatures and types come from the ABI, addresses from the deployment records. A call whose every
argument is neither shown nor left out by name is refused, so that no new argument is signed unseen.
"""

from __future__ import annotations

import typing

Json = dict[str, typing.Any]
SCHEMA = "https://eips.ethereum.org/assets/eip-7730/erc7730-v1.schema.json"
OWNER = "Bounty Escrow Service"
AMOUNT: Json = {"format": "unit", "params": {"base": "USDC", "decimals": 6}}
BASIS_POINTS: Json = {"format": "unit", "params": {"base": "bps"}}
TIME: Json = {"format": "date", "params": {"encoding": "timestamp"}}
DURATION: Json = {"format": "duration"}
PLAIN: Json = {"format": "raw"}
ACCOUNT: Json = {"format": "addressName", "params": {"types": ["eoa", "wallet", "contract"]}}
VERDICT: Json = {"format": "enum", "params": {"$ref": "$.metadata.enums.verdict"}}
PART: Json = {"format": "enum", "params": {"$ref": "$.metadata.enums.part"}}
ENUMS: Json = {
    "verdict": {"1": "award to the Solver", "2": "no valid submission"},
    "part": {"1": "award", "2": "refund", "3": "Guardian share", "4": "protocol fee"},
}

BOUNTY = ("bountyId", "Bounty", PLAIN)
TERMS = (
    ("terms.escrowAmount", "Escrow you pay", AMOUNT),
    ("terms.submissionDeadline", "Work until", TIME),
    ("terms.judgingWindow", "Time to judge", DURATION),
    ("terms.maxProtocolFee", "Protocol fee up to", AMOUNT),
    ("terms.maxGuardianFee", "Guardian fee up to", AMOUNT),
    ("terms.specCommitment", "Challenge page", PLAIN),
    ("terms.expectedRosterHash", "Roster", PLAIN),
    ("terms.salt", "Salt", PLAIN),
)
AUTHORIZED = (
    ("poster", "Poster who pays", ACCOUNT),
    *TERMS,
    ("validAfter", "Valid after", TIME),
    ("validBefore", "Valid before", TIME),
)
CALLS: dict[str, tuple[str, tuple[tuple[str, str, Json], ...], tuple[str, ...]]] = {
    "createBounty": ("Fund a bounty", TERMS, ()),
    "createBountyWithAuthorization": ("Fund a bounty", AUTHORIZED, ("signature",)),
    "submit": (
        "Submit sealed work",
        (
            BOUNTY,
            ("submissionCommitment", "Sealed work", PLAIN),
            ("guardianRosterHash", "Sealed for roster", PLAIN),
        ),
        (),
    ),
    "recordVerdict": (
        "Record a Verdict",
        (
            BOUNTY,
            ("kind", "Verdict", VERDICT),
            ("solver", "Solver", ACCOUNT),
            ("submissionCommitment", "Submission", PLAIN),
            ("reportCommitment", "Written reasons", PLAIN),
        ),
        (),
    ),
    "settle": ("End a bounty", (BOUNTY,), ()),
    "claim": ("Claim the award", (BOUNTY,), ("payoutData", "proof")),
    "claimRefund": ("Claim the refund", (BOUNTY,), ()),
    "claimGuardianFee": ("Claim your share", (BOUNTY,), ()),
    "claimProtocolFee": ("Claim protocol fee", (BOUNTY,), ()),
    "claimMany": (
        "Claim several parts",
        (("claims.[].kind", "Part", PART), ("claims.[].bountyId", "Bounty", PLAIN)),
        (),
    ),
    "heartbeat": ("Give a sign of life", (), ()),
    "publishRoster": (
        "Announce a roster",
        (
            ("accounts.[]", "Guardian", ACCOUNT),
            ("encryptionKeys.[]", "Encryption key", PLAIN),
            ("quorum", "Quorum", PLAIN),
        ),
        (),
    ),
    "publishDeliveryKey": ("Announce delivery key", (("key", "X25519 key", PLAIN),), ()),
    "withdrawDeliveryKey": ("Withdraw delivery key", (("key", "X25519 key", PLAIN),), ()),
    "setFeePolicy": (
        "Set fees from now on",
        (
            ("protocolFeeBps", "Protocol fee", BASIS_POINTS),
            ("guardianFeeBps", "Guardian fee", BASIS_POINTS),
            ("recipient", "Paid to", ACCOUNT),
        ),
        (),
    ),
    "transferOwnership": ("Offer the ownership", (("newOwner", "New owner", ACCOUNT),), ()),
    "acceptOwnership": ("Become the owner", (), ()),
}
TYPED: dict[str, tuple[str, tuple[tuple[str, str, str, Json], ...], tuple[str, ...]]] = {
    "ApiRequestApproval": (
        "Approve one request",
        (
            ("endpointId", "string", "Request", PLAIN),
            ("audience", "string", "To", PLAIN),
            ("query", "string", "Query", PLAIN),
            ("bodyHash", "bytes32", "Content", PLAIN),
            ("blockNumber", "uint256", "Fresh at block", PLAIN),
            ("blockHash", "bytes32", "Block hash", PLAIN),
        ),
        ("endpointId", "audience", "bodyHash", "query", "blockNumber", "blockHash"),
    ),
}
"""Typed data without a call: the intent, each value as it is shown, and their order in the signed structure."""
DOMAIN = (("name", "string"), ("version", "string"), ("chainId", "uint256"), ("verifyingContract", "address"))


def descriptors(abi: list[Json], hubs: list[tuple[int, str]]) -> dict[str, Json]:
    """Each file by its name, for the Hubs that stand: chain and address of each."""
    deployments = [{"chainId": chain_id, "address": address} for chain_id, address in hubs]
    typed = {f"eip712-{name}.json": _typed(deployments, name, *each) for name, each in TYPED.items()}
    return {"calldata-Hub.json": _calls(abi, deployments), **typed}


def _calls(abi: list[Json], deployments: list[Json]) -> Json:
    functions = [e for e in abi if e["type"] == "function" and e["stateMutability"] not in ("view", "pure")]
    if other := {each["name"] for each in functions} ^ set(CALLS):
        names = ", ".join(sorted(other))
        raise SystemExit(f"contracts/tools/clear_signing.py and the Hub do not name the same functions: {names}")
    formats = {_declared(each): _call(each, *CALLS[each["name"]]) for each in functions}
    return {
        "$schema": SCHEMA,
        "context": {"$id": "Hub", "contract": {"deployments": deployments, "abi": functions}},
        "metadata": {"owner": OWNER, "enums": ENUMS},
        "display": {"formats": formats},
    }


def _call(function: Json, intent: str, shown: tuple[tuple[str, str, Json], ...], left_out: tuple[str, ...]) -> Json:
    paths = [path for path, _, _ in shown]
    if sorted([*paths, *left_out]) != sorted(_leaves(function["inputs"], "")):
        raise SystemExit(f"contracts/tools/clear_signing.py does not decide about every argument of {function['name']}")
    fields = [{"path": path, "label": label, **how} for path, label, how in shown]
    return {"intent": intent, "fields": fields, "required": paths, "excluded": list(left_out)}


def _leaves(values: list[Json], before: str) -> typing.Iterator[str]:
    for value in values:
        path = f"{before}{value['name']}{'.[]' * value['type'].count('[]')}"
        if "components" in value:
            yield from _leaves(value["components"], f"{path}.")
        else:
            yield path


def _declared(function: Json) -> str:
    return f"{function['name']}({','.join(map(_argument, function['inputs']))})"


def _argument(value: Json) -> str:
    kind = value["type"]
    if "components" in value:
        kind = f"({','.join(map(_argument, value['components']))}){kind.removeprefix('tuple')}"
    return f"{kind} {value['name']}"


def _typed(
    deployments: list[Json],
    name: str,
    intent: str,
    values: tuple[tuple[str, str, str, Json], ...],
    order: tuple[str, ...],
) -> Json:
    kinds = {path: kind for path, kind, _, _ in values}
    types = {
        "EIP712Domain": [{"name": each, "type": kind} for each, kind in DOMAIN],
        name: [{"name": each, "type": kinds[each]} for each in order],
    }
    fields = [{"path": path, "label": label, **how} for path, _, label, how in values]
    shown = {"intent": intent, "fields": fields, "required": list(order)}
    bound = {"domain": {"name": "Service", "version": "1"}, "deployments": deployments}
    schemas = [{"primaryType": name, "types": types}]
    return {
        "$schema": SCHEMA,
        "context": {"$id": name, "eip712": {**bound, "schemas": schemas}},
        "metadata": {"owner": OWNER},
        "display": {"formats": {name: shown}},
    }
