"""The five attacks: for each the worst requests that one sender can make, from one address.

Accounts cost nothing, so that every signed request has another one. What is worst was measured part by part: the shapes
that take a parser, the rules or the query's validation the longest at the size they are permitted.
"""

import json
import secrets
from collections.abc import Sequence
from typing import Final

from bounty_protocol.auth.header import MAX_HEADER_LENGTH
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES, MAX_FRONTMATTER_BYTES
from bounty_protocol.domain.envelope.document import MAX_ENVELOPE_BYTES
from bounty_protocol.types import Address
from graphql import get_introspection_query
from service_api.subgraph.request import MAX_SAME_FIELDS
from service_api.subgraph.rows import MAX_IN

from bench.attack.asking import Signer, seen_at
from bench.attack.sending import Sending
from bench.http.load import get, post
from tests.protocol.auth.signing import Key, new_key
from tests.protocol.auth.wallets import CREATE2_DEPLOYER, wrapper

PAGES: Final = 300
"""Of an attack by pages; several of each account."""
ACCOUNTS: Final = 100
"""About as many as one address may publish from in an hour."""
BODIES: Final = ("[[[[", "![a](", "[abc][", "**a *b ", "us____a")
"""The filling of a page that takes Markdown and the rules the longest."""
_ENTRIES: Final = ("a,", "[],", "{},", "a: b,", '"",', "!a ,", "&a ,")
SLOW: Final = 225
BUSY: Final = 100
WAITING: Final = 150
"""Connections of an attack by pages: a hundred may wait for their review, the others go on sending."""
_BOUNTY: Final = (
    "id status poster_address spec_commitment guardian_roster_hash escrow_amount submission_deadline reveal_at "
    "judging_deadline protocol_fee guardian_fee authorization_nonce outcome block_number block_hash tx_hash time"
)
_SUBMISSION: Final = "id bounty_id solver_address submission_commitment block_number block_hash tx_hash"


def pages(signer: Signer, address: str, page: bytes) -> Sending:
    """Return ``page`` made as long as is permitted, with a body that costs the most; each published by
    another account.
    """
    room = MAX_DOCUMENT_BYTES - len(page) - 64
    filled = [(unit * (room // len(unit))).encode() for unit in BODIES]
    sent = [page + secrets.token_hex(16).encode() + filled[number % len(filled)] for number in range(PAGES)]
    return Sending(_published(signer, address, sent), WAITING)


def frontmatters(signer: Signer, address: str) -> Sending:
    """Publications of pages that are nothing but frontmatter, of the largest size."""
    heads = ["a: [" + each * ((MAX_FRONTMATTER_BYTES - 64) // len(each)) + "]" for each in _ENTRIES]
    heads.append("a: {" + "a," * ((MAX_FRONTMATTER_BYTES - 64) // 2) + "}")
    heads.append("a:\n" * ((MAX_FRONTMATTER_BYTES - 64) // 3))
    sent = [f"---\n{heads[n % len(heads)].rstrip()}\n---\n{secrets.token_hex(16)}\n".encode() for n in range(PAGES)]
    return Sending(_published(signer, address, sent), BUSY)


def _published(signer: Signer, address: str, sent: Sequence[bytes]) -> list[bytes]:
    accounts = [new_key() for _ in range(ACCOUNTS)]
    return [signer.publication(accounts[number % ACCOUNTS], page, address) for number, page in enumerate(sent)]


def queries(address: str) -> Sending:
    """Queries at the bounds of what is run: fields to compare, statements, rows, introspection."""
    lists = " ".join(f'a{n}: bounties(where: {{status: "open", time_gt: 1, time_lt: 3}}) {{id}}' for n in range(36))
    values = {"a": [f"0x{n:040x}" for n in range(MAX_IN // 2)]}
    among = " ".join(f"a{n}: submissions(where: {{solver_address_in: $a}}) {{id}}" for n in range(20))
    asked: Sequence[tuple[str, object]] = (
        ("{" + f"bounties {{ {_BOUNTY[:120].rpartition(' ')[0]} }} " * MAX_SAME_FIELDS + "}", None),
        ("{" + "bounties {s: submissions {id} t: submissions {id} u: submissions {id}} " * MAX_SAME_FIELDS + "}", None),
        ("{" + "_meta {block {number}} " * MAX_SAME_FIELDS + "}", None),
        (f"{{ {lists} }}", None),
        (f"query($a: [String!]) {{ {among} }}", values),
        (f"{{ bounties(first: 1000) {{ {_BOUNTY} submissions(first: 1000) {{ {_SUBMISSION} }} }} }}", None),
        (f"{{ submissions(first: 1000, orderBy: tx_hash, orderDirection: desc) {{ {_SUBMISSION} }} }}", None),
        (f"{{ submissions(first: 1000) {{ {_SUBMISSION} bounty {{ {_BOUNTY} }} }} }}", None),
        (f"query($a: [String!]) {{ {among.replace('_in:', '_not_in:').replace('{id}', '{bounty {id}}')} }}", values),
        ("{ bounties(block: {number_gte: 9007199254740991}) { id } }", None),
        (get_introspection_query(descriptions=True), None),
    )
    bodies = [json.dumps({"query": query, "variables": variables}).encode() for query, variables in asked]
    return Sending([post("/subgraph", body, seen_at(address)) for body in bodies], BUSY)


def wallets(signer: Signer, address: str, existing: Sequence[Address]) -> Sending:
    """Signed reads whose signatures were made up: of accounts that nobody has, and of wallets that others have."""
    path, nobody = f"/api/bounties/1/submissions/0x{'00' * 32}/content", Key(bytes([1]) * 32)
    half = MAX_HEADER_LENGTH // 4

    def line(number: int) -> str:
        account = existing[number % len(existing)] if number % 2 else new_key().address
        garbage = secrets.token_bytes(65)
        kinds = (garbage, secrets.token_bytes(half), wrapper(CREATE2_DEPLOYER, secrets.token_bytes(half), garbage))
        return signer.line(nobody, "GET", path, account=account, signature=kinds[number % len(kinds)])

    return Sending([get(path, seen_at(address), line(number)) for number in range(500)], BUSY)


def slow_bodies(signer: Signer, address: str) -> Sending:
    """Heads of signed requests whose bodies are announced in full length, and then come a byte now and then."""
    heads = []
    for _ in range(SLOW):
        key = new_key()
        path = f"/api/bounties/1/submissions/{key.address}/artifact-upload-url"
        signed = signer.line(key, "POST", path)
        heads.append(post(path, b"", seen_at(address), signed, length=MAX_ENVELOPE_BYTES))
    return Sending(heads, SLOW, slowly=True)
