"""What waits for a Guardian, read from the subgraph endpoint; advisory."""

from urllib.parse import urlsplit

from service_common.types import Address

from service_cli.client.api import ApiClient
from service_cli.client.browsing import require_deployment
from service_cli.outcome import Failed
from service_cli.output import event, say
from service_cli.settings import Settings

PAGE = 100
_QUERY = """
query Judgeable($guardian: String!, $time: Integer!, $skip: Int!, $first: Int!) {
  roster_members(where: {guardian_address: $guardian}, first: 1000) { version }
  bounties(where: {status: "open", reveal_at_lte: $time}, orderBy: judging_deadline, first: $first, skip: $skip) {
    bounty_id roster_version reveal_at judging_deadline
    submissions(first: 1000) { solver_address submission_commitment }
    verdicts(where: {guardian_address: $guardian}) { kind solver_address submission_commitment report_commitment }
  }
}
"""
_META = "{ _meta { block { timestamp } hasIndexingErrors } }"
_OWED = """
query Owed($guardian: String!, $first: Int!) {
  roster_members(where: {guardian_address: $guardian}, first: 1000) { version }
  bounties(where: {outcome: "awarded"}, orderBy: bounty_id, orderDirection: desc, first: $first) {
    bounty_id roster_version winner_solver_address winner_submission_commitment
  }
}
"""


def list_judgeable(settings: Settings, guardian: Address) -> None:
    """The command ``guardian:judgeable``."""
    api = ApiClient(settings.api_base_url(), None)
    require_deployment(settings, api)
    parts = urlsplit(settings.subgraph_endpoint())
    subgraph, path = ApiClient(f"{parts.scheme}://{parts.netloc}", None), parts.path
    meta = _object(_ask(subgraph, path, _META, {}), "_meta")
    if meta.get("hasIndexingErrors"):
        say("warning: the index reports errors; check on chain before judging")
    time = _object(meta, "block").get("timestamp")
    skip = 0
    while True:
        data = _ask(subgraph, path, _QUERY, {"guardian": guardian, "time": time, "skip": skip, "first": PAGE})
        bounties = _list(data, "bounties")
        for bounty in bounties:
            if bounty.get("roster_version") in _versions(data):
                _print_bounty(bounty)
        if len(bounties) < PAGE:
            break
        skip += PAGE
    _print_owed(api, subgraph, path, guardian)


def _print_bounty(bounty: dict[str, object]) -> None:
    verdicts = _list(bounty, "verdicts")
    event(
        "guardian_judgeable.bounty",
        {
            "bounty_id": bounty.get("bounty_id"),
            "reveal_at": bounty.get("reveal_at"),
            "judging_deadline": bounty.get("judging_deadline"),
            "submissions": _list(bounty, "submissions"),
            "own_verdict": verdicts[0] if verdicts else None,
        },
    )


def _print_owed(api: ApiClient, subgraph: ApiClient, path: str, guardian: Address) -> None:
    """Awarded bounties of this Guardian's rosters whose winning key nobody has handed over."""
    data = _ask(subgraph, path, _OWED, {"guardian": guardian, "first": PAGE})
    for bounty in _list(data, "bounties"):
        if bounty.get("roster_version") not in _versions(data):
            continue
        commitment = str(bounty.get("winner_submission_commitment"))
        status = api.get(
            f"/api/bounties/{bounty.get('bounty_id')}/delivery/status", {"submission_commitment": commitment}
        ).json()
        if status.get("exists") is not True:
            event(
                "guardian_judgeable.delivery_owed",
                {
                    "bounty_id": bounty.get("bounty_id"),
                    "solver": bounty.get("winner_solver_address"),
                    "submission_commitment": commitment,
                },
            )


def _versions(data: dict[str, object]) -> set[object]:
    return {member.get("version") for member in _list(data, "roster_members")}


def _ask(subgraph: ApiClient, path: str, query: str, variables: dict[str, object]) -> dict[str, object]:
    return _object(subgraph.post_json(path, {"query": query, "variables": variables}).json(), "data")


def _object(value: dict[str, object], name: str) -> dict[str, object]:
    found = value.get(name)
    if not isinstance(found, dict):
        raise _malformed(name)
    return found


def _list(value: dict[str, object], name: str) -> list[dict[str, object]]:
    found = value.get(name)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise _malformed(name)
    return found


def _malformed(name: str) -> Failed:
    message = f"The subgraph's answer has no {name} where there should be one."
    return Failed("answer_malformed", message, next_action="Check SERVICE_SUBGRAPH_ENDPOINT.")
