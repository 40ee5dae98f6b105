"""What waits for a Guardian, read from the subgraph endpoint; advisory."""

from service_common.types import Address

from service_cli.api import ApiClient, api_of, is_delivered, subgraph_of
from service_cli.bounty.listing import require_deployment
from service_cli.chain.journal import opened_name, was_done
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed
from service_cli.shell.output import event, remark, say, warn
from service_cli.shell.text import About, moment, printable

PAGE = 100
MOST_AWARDS = 1_000
JUDGEABLE = """
query Judgeable($guardian: String!, $time: Integer!, $skip: Int!, $first: Int!) {
  roster_members(where: {guardian_address: $guardian}, first: 1000) { version }
  bounties(where: {status: "open", reveal_at_lte: $time}, orderBy: judging_deadline, first: $first, skip: $skip) {
    bounty_id roster_version reveal_at judging_deadline
    submissions(first: 1000) { solver_address submission_commitment }
    verdicts(where: {guardian_address: $guardian}) { kind solver_address submission_commitment report_commitment }
  }
}
"""
SEALED = """
query Sealed($guardian: String!, $time: Integer!, $first: Int!) {
  roster_members(where: {guardian_address: $guardian}, first: 1000) { version }
  bounties(where: {status: "open", reveal_at_gt: $time}, orderBy: reveal_at, first: $first) {
    bounty_id roster_version reveal_at
  }
}
"""
_META = "{ _meta { block { timestamp } hasIndexingErrors } }"
OWED = """
query Owed($guardian: String!, $skip: Int!, $first: Int!) {
  roster_members(where: {guardian_address: $guardian}, first: 1000) { version }
  bounties(where: {outcome: "awarded"}, orderBy: bounty_id, orderDirection: desc, first: $first, skip: $skip) {
    bounty_id roster_version winner_solver_address winner_submission_commitment
  }
}
"""


def list_judgeable(settings: Settings, guardian: Address) -> None:
    """The command ``guardian:judgeable``."""
    api = api_of(settings)
    hub = require_deployment(settings, api)
    subgraph, path = subgraph_of(settings)
    meta = _object(_ask(subgraph, path, _META, {}), "_meta")
    if meta.get("hasIndexingErrors"):
        warn("warning: the index reports errors; check on chain before judging")
    time = _object(meta, "block").get("timestamp")
    skip = shown = 0
    on_a_roster = False
    while True:
        data = _ask(subgraph, path, JUDGEABLE, {"guardian": guardian, "time": time, "skip": skip, "first": PAGE})
        bounties, versions = _list(data, "bounties"), _versions(data)
        on_a_roster = bool(versions)
        for bounty in bounties:
            if bounty.get("roster_version") in versions:
                _print_bounty(settings, hub, bounty, time)
                shown += 1
        if len(bounties) < PAGE:
            break
        skip += PAGE
    shown += _print_owed(api, subgraph, path, guardian)
    if not on_a_roster:
        warn(f"{guardian} is not on any roster of this deployment; check the address and the network")
    elif not shown:
        say(f"nothing waits for this Guardian now{_next_reveal(subgraph, path, guardian, time)}")


def _next_reveal(subgraph: ApiClient, path: str, guardian: Address, time: object) -> str:
    """When the next of its sealed bounties can be opened, as text; nothing where there is none."""
    now = time if isinstance(time, int) else 0
    data = _ask(subgraph, path, SEALED, {"guardian": guardian, "time": now, "first": PAGE})
    sealed = [bounty for bounty in _list(data, "bounties") if bounty.get("roster_version") in _versions(data)]
    moments = [
        (at, bounty.get("bounty_id"))
        for bounty in sealed
        if isinstance(at := bounty.get("reveal_at"), int) and at > now
    ]
    if not moments:
        return ""
    at, bounty_id = min(moments, key=lambda found: found[0])
    return f"; bounty {bounty_id} is sealed until {moment(at, now)}"


def _print_bounty(settings: Settings, hub: Address, bounty: dict[str, object], time: object) -> None:
    verdicts, submissions = _list(bounty, "verdicts"), _list(bounty, "submissions")
    bounty_id, deadline = str(bounty.get("bounty_id")), bounty.get("judging_deadline")
    pairs = [(str(each.get("solver_address")), str(each.get("submission_commitment"))) for each in submissions]
    unopened = [
        commitment
        for solver, commitment in pairs
        if not was_done(settings.chain_id, hub, *opened_name(bounty_id, solver, commitment))
    ]
    own = verdicts[0] if verdicts else None
    event(
        "guardian_judgeable.bounty",
        {
            "bounty_id": bounty.get("bounty_id"),
            "reveal_at": bounty.get("reveal_at"),
            "judging_deadline": deadline,
            "submissions": submissions,
            "unopened": unopened,
            "own_verdict": own,
        },
        lambda: About(now=time if isinstance(time, int) else None),
    )
    until = moment(deadline, time) if isinstance(deadline, int) and isinstance(time, int) else "an unknown time"
    verdict = printable(own.get("kind")) if own else "none yet"
    opened = f"{len(unopened)} of {len(pairs)} Submissions not opened on this machine"
    remark(f"bounty {bounty_id[:20]}: judge until {until}; {opened}; your Verdict: {verdict}")


def _print_owed(api: ApiClient, subgraph: ApiClient, path: str, guardian: Address) -> int:
    """Awarded bounties of this Guardian's rosters whose winning key nobody has delivered; how many."""
    shown = 0
    for skip in range(0, MOST_AWARDS, PAGE):
        data = _ask(subgraph, path, OWED, {"guardian": guardian, "skip": skip, "first": PAGE})
        bounties = _list(data, "bounties")
        for bounty in bounties:
            if bounty.get("roster_version") in _versions(data) and _is_owed(api, bounty):
                shown += 1
        if len(bounties) < PAGE:
            return shown
    warn(f"only the newest {MOST_AWARDS} awards were looked at")
    return shown


def _is_owed(api: ApiClient, bounty: dict[str, object]) -> bool:
    """Whether nobody has delivered this winner's key; then it is printed."""
    bounty_id, commitment = bounty.get("bounty_id"), str(bounty.get("winner_submission_commitment"))
    if is_delivered(api, str(bounty_id), commitment):
        return False
    solver = bounty.get("winner_solver_address")
    event(
        "guardian_judgeable.delivery_owed",
        {"bounty_id": bounty_id, "solver": solver, "submission_commitment": commitment},
    )
    remark(f"the Poster waits for the winning key: service-cli {printable(f'guardian:deliver-key {bounty_id}', 50)}")
    return True


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


def _malformed(name: str) -> CommandFailed:
    message = f"The subgraph's answer has no {name} where there should be one."
    return CommandFailed("answer_malformed", message, next_action="Check SERVICE_SUBGRAPH_ENDPOINT.")
