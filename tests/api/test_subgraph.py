"""The GraphQL endpoint."""

import json
from functools import partial
from typing import cast

import psycopg
import pytest
from graphql import build_client_schema, get_introspection_query, print_schema
from service_api.subgraph import routes
from service_api.subgraph.rows import MAX_ANSWER_BYTES, Reads, Row
from service_common.db.hub_reads import Head
from sqlalchemy import Connection
from werkzeug.test import TestResponse

from tests.api.conftest import Service, error_of


def ask(service: Service, query: str, **variables: object) -> TestResponse:
    return service.client.post(
        "/subgraph",
        data=json.dumps({"query": query, "variables": variables}),
        headers={"Content-Type": "application/json"},
    )


def data(response: TestResponse) -> dict[str, list[dict[str, object]]]:
    assert response.status_code == 200, response.get_data(as_text=True)
    assert response.json is not None
    found: dict[str, list[dict[str, object]]] = response.json["data"]
    return found


@pytest.mark.spec(36, 37, 61)
def test_bounties_with_children_are_current(service: Service) -> None:
    world = service.world
    bounty_id = world.fund()
    world.submit(bounty_id, world.solver(1))
    latest = world.submit(bounty_id, world.solver(1))
    world.finalize()
    query = """query ($id: String!) { bounties(where: {bounty_id: $id}) {
        bounty_id status escrow_amount submission_deadline submissions { solver_address submission_commitment }
        verdicts { kind } } }"""
    (bounty,) = data(ask(service, query, id=str(bounty_id)))["bounties"]
    assert bounty["escrow_amount"] == "25000000"
    assert isinstance(bounty["submission_deadline"], int)
    assert bounty["status"] == "open"
    assert bounty["submissions"] == [{"solver_address": world.solver(1).address, "submission_commitment": latest}]
    assert bounty["verdicts"] == []


def test_filters_and_paging_are_the_graphs(service: Service) -> None:
    for _ in range(3):
        service.world.fund()
    service.world.finalize()
    query = (
        '{ bounties(where: {escrow_amount_gte: "1"}, orderBy: time, orderDirection: desc, first: 2, skip: 1) { id } }'
    )
    assert len(data(ask(service, query))["bounties"]) == 2
    assert data(ask(service, '{ bounties(where: {escrow_amount_gt: "99999999999999999999"}) { id } }')) == {
        "bounties": []
    }
    meta = ask(service, "{ _meta { block { number hash timestamp } finalized_block_number hasIndexingErrors } }").json
    assert meta is not None
    assert meta["data"]["_meta"]["hasIndexingErrors"] is False
    assert meta["data"]["_meta"]["block"]["number"] - meta["data"]["_meta"]["finalized_block_number"] == 2


def test_too_many_rows_say_to_page_by_a_key(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.world.fund()
    service.world.finalize()
    monkeypatch.setattr(routes, "Reads", partial(Reads, rows=1))
    assert "by a key" in str(error_of(ask(service, "{ bounties { id } }"))["issues"])


@pytest.mark.parametrize(
    "query",
    [
        "",
        "{",
        "{ nothing }",
        "{ bounties(first: 1001) { id } }",
        "{ bounties(skip: 5001) { id } }",
        "{ bounties(where: {escrow_amount: 5}) { id } }",
        "{ bounties { ...F } } fragment F on Bounty { ...F }",
        "{ bounties { ...F } } fragment F on Claim { id }",
        "mutation { x }",
        "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }",
        "query A { bounties { id } } query B { bounties { id } }",
        "query A($first: Int!) { bounties(first: $first) { id } }",
        "{ bounties(first: 1e400) { id } }",
        "{ bounties(first: 99999999999999999999) { id } }",
        "{ bounties(first: " + "9" * 5_000 + ") { id } }",
        "{ bounties(first: 1." + "9" * 5_000 + ") { id } }",
        "{ bounties(where: {block_number: 9223372036854775808}) { id } }",
        '{ bounties(where: {bounty_id: "9223372036854775808"}) { id } }',
        "{ bounties(where: {bounty_id_in: null}) { id } }",
        "{ bounties(where: {escrow_amount_gt: null}) { id } }",
        '{ bounties(where: {status: "a\\u0000"}) { id } }',
        '{ bounty(id: "\\u0000") { id } }',
        "{" + " bounties { id }" * 600 + "}",
    ],
)
def test_malformed_query_is_refused_plainly(service: Service, query: str) -> None:
    response = ask(service, query)
    assert (response.status_code, error_of(response)["code"]) == (400, "invalid_request")
    said = response.get_data(as_text=True)
    assert "Traceback" not in said
    assert "sys." not in said


@pytest.mark.parametrize(
    ("variables", "kind"),
    [
        ('{"x": 5}', "BigInt"),
        ('{"x": {"a": 1}}', "BigInt"),
        ('{"x": ["1"]}', "BigInt"),
        ('{"x": "-1"}', "BigInt"),
        ('{"x": 1e400}', "Integer"),
        ('{"x": NaN}', "Integer"),
        ('{"x": 9223372036854775808}', "Integer"),
        ('{"x": "a"}', "Integer"),
        ('{"x": "\\u0000"}', "String"),
        ('{"x": "\\ud800"}', "String"),
        ("{}", "String!"),
        ('{"x": ' + "[" * 4_000 + "]" * 4_000 + "}", "String"),
        ("[]", "String"),
    ],
)
def test_variable_out_of_range_is_refused(service: Service, variables: str, kind: str) -> None:
    field = {"B": "escrow_amount", "I": "block_number", "S": "status"}[kind[0]]
    query = f"query ($x: {kind}) {{ bounties(where: {{{field}: $x}}) {{ id }} }}"
    body = f'{{"query": {json.dumps(query)}, "variables": {variables}}}'
    response = service.client.post("/subgraph", data=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, error_of(response)["code"]) == (400, "invalid_request")


def test_null_is_the_default(service: Service) -> None:
    bounty_id = str(service.world.fund())
    service.world.finalize()
    assert data(ask(service, "{ bounties(first: null, skip: null) { id } }"))["bounties"]
    newest = "orderBy: bounty_id, orderDirection: desc"
    still_open = data(ask(service, f"{{ bounties(where: {{outcome: null}}, {newest}) {{ id }} }}"))["bounties"]
    ended = data(ask(service, f"{{ bounties(where: {{outcome_not: null}}, {newest}) {{ id }} }}"))["bounties"]
    assert {"id": bounty_id} in still_open
    assert {"id": bounty_id} not in ended


@pytest.mark.parametrize("extensions", [{}, {"clientLibrary": {"name": "@apollo/client", "version": "4.0.0"}}, None])
def test_extensions_change_nothing(service: Service, extensions: object) -> None:
    body = {"query": "{ _meta { block { number } } }", "operationName": None, "extensions": extensions}
    assert service.client.post("/subgraph", json=body).status_code == 200


def test_fragments_and_directives__are_applied(service: Service) -> None:
    bounty_id = str(service.world.fund())
    service.world.finalize()
    query = """query ($id: ID!, $no: Boolean!) {
        one: bounty(id: $id) { ...F ... on Bounty { outcome @include(if: $no) } status @skip(if: $no) }
    } fragment F on Bounty { id submissions { ...G } } fragment G on Submission { id }"""
    answer = ask(service, query, id=bounty_id, no=False)
    assert answer.json == {"data": {"one": {"id": bounty_id, "submissions": [], "status": "open"}}}


def test_aliased_children_have_their_own_filter(service: Service) -> None:
    world = service.world
    many, few = world.fund(), world.fund()
    solvers = [world.solver(number) for number in (1, 2, 3)]
    for solver in solvers:
        world.submit(many, solver)
    world.submit(few, solvers[0])
    world.finalize()
    query = """query ($ids: [String!]!, $solver: String!) {
        bounties(where: {bounty_id_in: $ids}, orderBy: block_number) {
            page: submissions(first: 1, skip: 1, orderBy: block_number) { solver_address }
            own: submissions(where: {solver_address: $solver}) { solver_address }
        }
    }"""
    found = data(ask(service, query, ids=[str(many), str(few)], solver=solvers[0].address))["bounties"]
    own = [{"solver_address": solvers[0].address}]
    assert found == [{"page": [{"solver_address": solvers[1].address}], "own": own}, {"page": [], "own": own}]


def test_introspection_and_document_agree(service: Service) -> None:
    introspected = ask(service, get_introspection_query()).json
    assert introspected is not None
    document = service.client.get("/subgraph/schema.graphql")
    assert (document.status_code, document.mimetype) == (200, "text/plain")
    assert print_schema(build_client_schema(introspected["data"])) + "\n" == document.text


WIDE = " ".join(f"a{number}: status" for number in range(280))


@pytest.mark.parametrize(
    "query",
    [
        "{ " + " ".join(f"a{number}: __schema {{ types {{ name }} }}" for number in range(50)) + " }",
        "{ bounties { " + "id " * 400 + "} }",
        "{ bounties { " + WIDE + " " + WIDE + " } }",
        "{ " + "bounties { id } " * 26 + "}",
        "{ " + "... { bounties { id } } " * 26 + "}",
        "{ " + "...A " * 13 + "} fragment A on Query { ...B ...B } fragment B on Query { bounties { id } }",
        "{ ...A } fragment A on Query { " + "...A " * 300 + "}",
        "{ ...A0 } "
        + " ".join(f"fragment A{n} on Query {{ ...A{n + 1} ...A{n + 1} }}" for n in range(20))
        + " fragment A20 on Query { bounties { id } }",
        "{ bounties(where: {status_in: " + "[" * 400 + "]" * 400 + "}) { id } }",
        "{ " + "bounties { submissions { " * 6 + "id" + " }}" * 6 + " }",
    ],
)
def test_costly_query_is_refused_unvalidated(service: Service, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service_api.subgraph.request.MAX_TOKENS", 100_000)
    validated: list[object] = []
    monkeypatch.setattr("service_api.subgraph.request.validate", lambda *_, **__: validated.append(1))
    response = ask(service, query)
    assert (response.status_code, error_of(response)["code"]) == (400, "invalid_request")
    assert not validated


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("{ verdicts(orderBy: kind) { id } }", 400),
        ('{ verdicts(where: {bounty_id: "1"}, orderBy: kind) { id } }', 200),
        ('{ verdicts(where: {guardian_address: "0x1"}, orderBy: time) { id } }', 200),
        ('{ verdicts(where: {guardian_address: "0x1"}, orderBy: kind) { id } }', 400),
        ("{ bounties(orderBy: escrow_amount) { id } }", 400),
        ('{ bounties(where: {status: "open"}, orderBy: escrow_amount) { id } }', 200),
        ("{ bounties(orderBy: settled_at) { id } }", 400),
        ('{ bounties(where: {status: "final"}, orderBy: settled_at) { id } }', 200),
        ('{ claims(where: {bounty_id_gte: "5", bounty_id_lte: "1005"}, orderBy: amount) { id } }', 200),
        ('{ claims(where: {bounty_id_gte: "5", bounty_id_lte: "1006"}, orderBy: amount) { id } }', 400),
        ("{ roster_members(orderBy: encryption_public_key) { id } }", 200),
        ("{ bounties { submissions(orderBy: tx_hash) { id } } }", 200),
        ("{" + " ".join(f'a{n}: bounty(id: "{n}") {{ id }}' for n in range(20)) + "}", 200),
        ("{" + " ".join(f'a{n}: bounty(id: "{n}") {{ id }}' for n in range(21)) + "}", 400),
        ("{ a: verdict_replacements { id } b: verdict_replacements { id } }", 200),
        ("{ a: verdict_replacements { id } b: verdict_replacements { id } c: verdict_replacements { id } }", 400),
        ("{ a: claims(skip: 2500) { id } b: claims(skip: 2500) { id } }", 200),
        ("{ a: claims(skip: 2500) { id } b: claims(skip: 2501) { id } }", 400),
    ],
)
def test_list_that_reads_whole_tables_is_bounded(service: Service, query: str, status: int) -> None:
    assert ask(service, query).status_code == status


def test_too_large_answer_is_refused(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(4):
        service.world.fund()
    service.world.finalize()
    long_names = "{ bounties(first: 4) { " + " ".join(f"{'n' * 4_000}{number}: id" for number in range(3)) + " } }"
    assert ask(service, long_names).status_code == 200
    monkeypatch.setattr(routes, "Reads", partial(Reads, answer_bytes=48_000))
    assert ask(service, "{ bounties(first: 4) { id } }").status_code == 200
    refused = ask(service, long_names)
    assert (refused.status_code, error_of(refused)["code"]) == (400, "invalid_request")


def test_slow_query_is_overload_and_no_fault(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service_api.subgraph.rows.STATEMENT_SECONDS", 0.05)
    with psycopg.connect(service.world.database.url()) as other:
        other.execute("LOCK TABLE hub_index.bounties")
        response = ask(service, "{ bounties { id } }")
        other.rollback()
    assert (response.status_code, error_of(response)["code"]) == (503, "service_overloaded")
    assert response.headers["Retry-After"] == "2"


@pytest.mark.spec(68)
def test_verdict_has_its_report_commitment(service: Service) -> None:
    world = service.world
    bounty_id = world.fund()
    world.submit(bounty_id, world.solver(1))
    world.advance_to(world.reveal_at(bounty_id))
    report = bytes([7]) * 32
    named = (bounty_id, 2, "0x" + "00" * 20, bytes(32), report)
    world.contract.transact(world.guardian(1), "recordVerdict", *named)
    world.finalize()
    query = "query ($id: String!) { bounties(where: {bounty_id: $id}) { verdicts { report_commitment } } }"
    (bounty,) = data(ask(service, query, id=str(bounty_id)))["bounties"]
    assert bounty["verdicts"] == [{"report_commitment": "0x" + report.hex()}]


def test_replacement_names_both_verdicts(service: Service) -> None:
    world = service.world
    bounty_id = world.fund()
    solver = world.solver(1)
    commitment = world.submit(bounty_id, solver)
    world.advance_to(world.reveal_at(bounty_id))
    zero = "0x" + "00" * 20
    award = (bounty_id, 1, solver.address, bytes.fromhex(commitment[2:]))
    world.contract.transact(world.guardian(1), "recordVerdict", *award, b"\x01" * 32)
    world.contract.transact(world.guardian(2), "recordVerdict", bounty_id, 2, zero, bytes(32), b"\x02" * 32)
    world.contract.transact(world.guardian(1), "recordVerdict", bounty_id, 2, zero, bytes(32), b"\x03" * 32)
    world.finalize()
    query = """query ($id: String!) { verdict_replacements(where: {bounty_id: $id}) {
        guardian_address kind solver_address report_commitment
        replaced_kind replaced_solver_address replaced_report_commitment time replaced_time } }"""
    (found,) = data(ask(service, query, id=str(bounty_id)))["verdict_replacements"]
    assert int(str(found.pop("time"))) >= int(str(found.pop("replaced_time")))
    assert found == {
        "guardian_address": world.guardian(1).address,
        "kind": "no_valid_submission",
        "solver_address": None,
        "report_commitment": "0x" + "03" * 32,
        "replaced_kind": "awarded",
        "replaced_solver_address": solver.address,
        "replaced_report_commitment": "0x" + "01" * 32,
    }
    changes = service.get("/api/changes?after=0&limit=500").get_json()["items"]
    of_this = [each["event"] for each in changes if each["event"] and each["event"]["bounty_id"] == str(bounty_id)]
    replaced = [each["replaces"] for each in of_this if "replaces" in each]
    assert [(each["kind"], each["solver_address"]) for each in replaced] == [("awarded", solver.address)]
    assert replaced[0]["report_commitment"] == "0x" + "01" * 32


def test_latest_replacements_are_one_of_each_guardian(
    service: Service,
) -> None:
    world = service.world
    bounty_id = world.fund()
    solver = world.solver(1)
    commitment = bytes.fromhex(world.submit(bounty_id, solver)[2:])
    world.advance_to(world.reveal_at(bounty_id))
    award, none = (1, solver.address, commitment), (2, "0x" + "00" * 20, bytes(32))
    for number, decisions in ((2, [none, award, award]), (1, [none] * 6)):
        for report, decision in enumerate(decisions):
            words = (bounty_id, *decision, bytes([report + 1]) * 32)
            world.contract.transact(world.guardian(number), "recordVerdict", *words)
    world.finalize()
    query = """query ($id: String!) { all: verdict_replacements(where: {bounty_id: $id}) { id }
        latest: verdict_replacements(where: {bounty_id: $id, replaced_again_time: null}, orderBy: block_number) {
        guardian_address report_commitment replaced_again_time replaced_kind replaced_report_commitment } }"""
    found = data(ask(service, query, id=str(bounty_id)))
    assert len(found["all"]) == 7
    reports = [(each["guardian_address"], str(each["report_commitment"])[2:4]) for each in found["latest"]]
    assert reports == [(world.guardian(2).address, "03"), (world.guardian(1).address, "06")]
    was = [(each["replaced_kind"], str(each["replaced_report_commitment"])[2:4]) for each in found["latest"]]
    assert was == [("no_valid_submission", "01"), ("no_valid_submission", "05")]  # the first: what the award hid


QUERY = {"query": "{ bounties { id } }"}
WRONG = {"query": "{ nothing }"}
GRAPHQL = "application/graphql-response+json"


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("text/html", "application/json"),
        ("application/json", "application/json"),
        (GRAPHQL, GRAPHQL),
        (f"{GRAPHQL},application/json;q=0.9", GRAPHQL),
        (f"{GRAPHQL}, application/graphql+json, application/json, text/event-stream, multipart/mixed", GRAPHQL),
        (f"application/json, {GRAPHQL};q=0.5", "application/json"),
        (f"application/json, {GRAPHQL};q=0", "application/json"),
    ],
)
def test_media_type_is_the_one_asked_for(service: Service, accept: str | None, media_type: str) -> None:
    headers = {} if accept is None else {"Accept": accept}
    for query, status in ((QUERY, 200), (WRONG, 400)):
        answer = service.client.post("/subgraph", json=query, headers=headers)
        assert (answer.status_code, answer.mimetype) == (status, media_type)


def test_refusal_is_what_graphql_clients_show(service: Service) -> None:
    plain = service.client.post("/subgraph", json=WRONG).json
    graphql = service.client.post("/subgraph", json=WRONG, headers={"Accept": GRAPHQL}).json
    assert plain is not None
    assert set(plain) == {"error", "errors"}
    assert graphql == {"errors": plain["errors"]}, "nobody reads a key there that the specification does not have"
    (error,) = plain["errors"]
    assert error["message"] == "The GraphQL request cannot be run. Cannot query field 'nothing' on type 'Query'."
    known = {name: value for name, value in plain["error"].items() if name != "message"}
    assert error["extensions"] == known


def test_filter_of_values_leaves_others_out(service: Service) -> None:
    first, second, third = (service.world.fund() for _ in range(3))
    service.world.finalize()
    newest = "orderBy: bounty_id, orderDirection: desc"
    query = f"query ($ids: [String!]) {{ bounties(where: {{bounty_id_not_in: $ids}}, {newest}) {{ bounty_id }} }}"
    found = {bounty["bounty_id"] for bounty in data(ask(service, query, ids=[str(first), str(third)]))["bounties"]}
    assert str(second) in found
    assert not {str(first), str(third)} & found
    assert ask(service, query, ids=[str(number) for number in range(1, 502)]).status_code == 400
    by_id = data(ask(service, f'{{ bounties(where: {{id_not_in: ["{first}"]}}) {{ id }} }}'))["bounties"]
    assert str(first) not in {bounty["id"] for bounty in by_id}


def test_row_has_its_bounty_with_plain_fields(service: Service) -> None:
    world = service.world
    one, other = world.fund(), world.fund()
    for bounty_id, solver in ((one, 1), (one, 2), (other, 1)):
        world.submit(bounty_id, world.solver(solver))
    world.finalize()
    query = """query ($ids: [String!]) { submissions(where: {bounty_id_in: $ids}) {
        bounty_id solver_address bounty { bounty_id status award_amount } } }"""
    found = data(ask(service, query, ids=[str(one), str(other)]))["submissions"]
    assert len(found) == 3
    for row in found:
        assert row["bounty"] == {"bounty_id": row["bounty_id"], "status": "open", "award_amount": "24000000"}
    nested = f'''{{ bounty(id: "{one}") {{ submissions {{ bounty {{ id }} }} }} }}'''
    assert ask(service, nested).json == {"data": {"bounty": {"submissions": [{"bounty": {"id": str(one)}}] * 2}}}


@pytest.mark.parametrize(
    "query",
    [
        "{ submissions { bounty { submissions { id } } } }",
        "{ bounties { verdicts { bounty { a: claims { id } } } } }",
        "{ claims { ... on Claim { bounty { ...F } } } } fragment F on Bounty { verdicts { id } }",
    ],
)
def test_lists_below_a_rows_bounty_are_refused(service: Service, query: str) -> None:
    response = ask(service, query)
    assert (response.status_code, error_of(response)["code"]) == (400, "invalid_request")
    assert "asks for lists below the bounty of a row" in response.get_data(as_text=True)


def test_strangers_texts_count_as_long_as_they_are() -> None:
    reads = Reads(cast("Connection", None), cast("Head", None))
    rows = [Row(summary="\N{CAT FACE}" * 2_000), Row(summary=None)]
    reads.spend(rows, {"a": "summary", "b": "summary"})
    assert 16_000 < MAX_ANSWER_BYTES - reads.answer_bytes < 16_800


def test_bounty_that_many_rows_repeat_counts_for_each(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    world = service.world
    bounty_id = world.fund()
    for number in range(1, 4):
        world.submit(bounty_id, world.solver(number))
    world.finalize()
    names = " ".join(f"{'a' * 150}{number}: tx_hash" for number in range(60))
    query = f'{{ submissions(where: {{bounty_id: "{bounty_id}"}}) {{ bounty {{ {names} }} }} }}'
    monkeypatch.setattr(routes, "Reads", partial(Reads, answer_bytes=3 * 60 * 150))
    assert ask(service, query).status_code == 400
    monkeypatch.setattr(routes, "Reads", partial(Reads, answer_bytes=4 * 60 * 240))
    assert ask(service, query).status_code == 200


def test_query_from_a_block_waits_for_it(service: Service) -> None:
    newest = ask(service, "{ _meta { block { number } } }").json
    assert newest is not None
    head = newest["data"]["_meta"]["block"]["number"]
    query = """query ($n: Integer!) {
        bounties(block: {number_gte: $n}) { id } _meta(block: {number_gte: $n}) { deployment } }"""
    there = ask(service, query, n=head)
    assert there.status_code == 200
    chain = service.resources.config.chain
    assert there.json is not None
    assert there.json["data"]["_meta"] == {"deployment": f"eip155:{chain.chain_id}:{chain.hub_address}"}
    for later in (head + 1, 2**63 - 1):
        response = ask(service, query, n=later)
        assert (response.status_code, error_of(response)["code"]) == (503, "bounty_projection_unavailable")
        assert response.headers["Retry-After"] == "2"
    assert ask(service, query, n=-1).status_code == 400
    nested = "{ bounties { submissions(block: {number_gte: 1}) { id } } }"
    assert ask(service, nested).status_code == 400, "of a whole answer alone"
