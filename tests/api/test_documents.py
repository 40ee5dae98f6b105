"""``docs/interface.md`` and ``docs/authentication.md`` against the code."""

import re
from pathlib import Path

from bounty_protocol.auth.header import MAX_HEADER_LENGTH
from bounty_protocol.auth.typed_data import _APPROVAL_FIELDS
from service_common.chain import contract_wallets as w

from tests.api.contract import operations

DOCS = Path(__file__).parents[2] / "docs"
INTERFACE = (DOCS / "interface.md").read_text(encoding="utf-8")
AUTHENTICATION = " ".join((DOCS / "authentication.md").read_text(encoding="utf-8").split())


def test_interface__of_the_routes__names_each() -> None:
    named = set(re.findall(r"`([A-Z]+ /[^`?\s]*)[^`]*`", INTERFACE))
    there = {f"{each.method.upper()} {each.path}" for each in operations() if each.path != "/healthz"}
    assert there - named == set(), "./noxw -s generate writes each into docs/interface.md"
    assert {each for each in named if each.split()[1].startswith(("/api", "/subgraph"))} - there == set()


def test_interface__of_the_list__names_every_query_parameter() -> None:
    for operation in operations():
        for name in (*operation.query(required=True), *operation.query(required=False)):
            assert re.search(rf"\b{name}\b", INTERFACE), name


def test_authentication__of_the_structure_and_the_limits__says_what_the_code_does() -> None:
    fields = ",".join(f"{kind} {name}" for name, kind in _APPROVAL_FIELDS)
    assert f"ApiRequestApproval({fields})" in AUTHENTICATION
    for figure in (f"{w.ACCOUNT_GAS:,} gas", f"{w.FACTORY_GAS:,}", f"{w.MAX_AT_A_TIME} calls at a time"):
        assert figure in AUTHENTICATION
    assert f"{w.MAX_PER_SECOND} a second" in AUTHENTICATION
    assert f"at most {MAX_HEADER_LENGTH // 1024} KiB" in AUTHENTICATION
    assert f"{w.CALL_SECONDS:g} seconds" in AUTHENTICATION
