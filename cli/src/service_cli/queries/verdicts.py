"""Each Guardian's latest Verdict, by the Hub's own log, with the reasons that hash to it."""

from bounty_protocol.domain.challenge.commitments import report_commitment
from bounty_protocol.domain.lifecycle.hub_events import VerdictRecorded
from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32

from service_cli.api import ApiClient, api_of
from service_cli.chain.receipts import ExpectedEvent, bounty_topic
from service_cli.chain.session import ChainClient
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed
from service_cli.queries.events import ShownVerdict
from service_cli.queries.submissions import first_blocks
from service_cli.ui.output import emit, say


def show_verdicts(settings: Settings, bounty_id: BountyId) -> tuple[ShownVerdict, ...]:
    """Run ``bounty:show --verdicts``: print one event for each Guardian who recorded a Verdict, in the
    roster's order.
    """
    chain = ChainClient(settings)
    api = api_of(settings)
    recorded, shown = recorded_verdicts(chain, api, bounty_id), list[ShownVerdict]()
    for verdict in recorded:
        document, code = _document(api, verdict.report_commitment)
        awarded = verdict.kind is VerdictKind.AWARDED
        shown.append(
            emit(
                ShownVerdict(
                    bounty_id,
                    verdict.guardian,
                    verdict.kind,
                    verdict.solver if awarded else None,
                    verdict.submission_commitment if awarded else None,
                    verdict.report_commitment,
                    code,
                    {"document": document},
                )
            )
        )
    if not recorded:
        say(f"no Guardian has recorded a Verdict on bounty {bounty_id}")
    return tuple(shown)


def recorded_verdicts(chain: ChainClient, api: ApiClient, bounty_id: BountyId) -> list[VerdictRecorded]:
    """Read each Guardian's last Verdict; refuse if the log lacks one that the Hub itself has."""
    roster = chain.pinned_roster(chain.bounty(bounty_id)).accounts
    views = {guardian: chain.hub.verdict(bounty_id, guardian) for guardian in roster}
    wanted = {each: view for each, view in views.items() if view.kind is not None}
    for start in first_blocks(chain, api, bounty_id) if wanted else ():
        event = ExpectedEvent(VerdictRecorded, [bounty_topic(bounty_id)])
        last: dict[Address, VerdictRecorded] = {one.guardian: one for _, one in event.found(chain, start)}
        if all(
            guardian in last
            and (last[guardian].kind, last[guardian].solver, last[guardian].submission_commitment)
            == (view.kind, view.solver, view.submission_commitment)
            for guardian, view in wanted.items()
        ):
            return [last[guardian] for guardian in wanted]
    if wanted:
        message = "The RPC endpoint's log lacks a Verdict that the Hub has."
        raise CommandFailed(
            "log_incomplete", message, next_action="Run the command again, or use another RPC endpoint."
        )
    return []


def _document(api: ApiClient, commitment: Bytes32) -> tuple[str | None, str | None]:
    """Read the document that hashes to it; else None and why."""
    try:
        content = api.get(f"/api/written-verdicts/{commitment}").body
        return (content.decode(), None) if report_commitment(content) == commitment else (None, "verdict_mismatch")
    except UnicodeDecodeError:
        return None, "verdict_malformed"
    except ServiceError as error:
        return None, error.code
