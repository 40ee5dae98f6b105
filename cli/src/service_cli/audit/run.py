"""One audit, from collecting to the last line.

The chain is read first, and from the chain alone; then everything that the service shows is compared with it. An
operator who does not answer ends nothing: what could not be read is reported as not checked. An audit of a bundle
(``--from``) reports which part only the chain could confirm.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bounty_protocol.chain.deployment import deployment_of
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BlockNumber, BountyId, Bytes32, UnixSeconds

from service_cli.api import api_of
from service_cli.audit.bundle import TokenLabel, judge_manifest, read_bundle, require_writable, write_bundle
from service_cli.audit.collect import collect_chain, collect_service
from service_cli.audit.events import AuditTotal, CheckResult, WrittenBundle, WrittenPage
from service_cli.audit.history import BountyHistory, ChainEvidence, ServiceEvidence, read_history
from service_cli.audit.report import Check, Report, differing, paragraph, show_summary, write_page
from service_cli.audit.rules import check_rules, check_views
from service_cli.audit.service import check_detail, check_documents
from service_cli.bounty.facts import first_blocks
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.chain.token import amount_shown, base_units
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings, load_settings
from service_cli.errors import CommandRefused
from service_cli.ui.output import emit, say, warn
from service_cli.ui.text import amount

KEYS = {"poster": "SERVICE_POSTER_PRIVATE_KEY", "guardian": "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY"}


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments as typed."""

    bounty_id: BountyId | None
    bundle: Path | None
    source: Path | None
    sign_as: str | None
    from_block: int | None
    strict: bool
    page: Path | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings of an audit; ``summary`` says in plain words how the bounty went."""

    bounty_id: BountyId
    log_digest: Bytes32
    checks: tuple[Check, ...]
    summary: str

    @property
    def differing(self) -> tuple[str, ...]:
        """The checks that do not hold; the chain is right and the service is not."""
        return tuple(each.title for each in self.checks if each.result is CheckResult.DIFFERS)


def audit_bounty(settings: Settings, bounty_id: BountyId, *, sign_as: str | None = None) -> Audit:
    """One bounty by the chain, and all that the service shows of it compared with that. Raises nothing for differences.

    ``sign_as``: ``poster`` or ``guardian``, whose key then reads the sealed envelopes, too.
    """
    report = Report()
    request = Request(bounty_id, None, None, sign_as, None, strict=False)
    history, _, chain = _from_chain(settings, request, bounty_id, report)
    summary = paragraph(history, report, amount_shown(chain))
    return Audit(bounty_id, history.digest(), tuple(report.checks), summary)


def audit(network: str | None, api_base_url: str | None, request: Request) -> None:
    """The command ``service-audit``."""
    report = Report()
    shown: Callable[[int], str] = base_units
    if request.page is not None:
        require_writable(request.page)
    if request.source is not None:
        environment = Environment.of_process()
        chosen = network or environment.get("SERVICE_CHAIN_ID")
        settings = None if chosen is None else load_settings(network, api_base_url, None, environment)
        history, service, shown = _from_bundle(settings, request.source, request.bounty_id, report)
    elif request.bounty_id is not None:
        history, service, chain = _from_chain(load_settings(network, api_base_url), request, request.bounty_id, report)
        shown = amount_shown(chain)
    else:
        raise RuntimeError("neither a bounty nor a bundle")
    _finish(history, service, report, request, shown)


def check(history: BountyHistory, service: ServiceEvidence, report: Report) -> None:
    """Every check that needs no network."""
    check_rules(history, report)
    check_views(history, report)
    check_detail(history, service, report)
    check_documents(history, service, report)


def _from_chain(
    settings: Settings, request: Request, bounty_id: BountyId, report: Report
) -> tuple[BountyHistory, ServiceEvidence, ChainClient]:
    if request.bundle is not None:
        require_writable(request.bundle)
    chain = ChainClient(settings)
    chain.check_deployment()
    signer = None if request.sign_as is None else local_signer(settings, KEYS[request.sign_as])
    history, service = evidence_of(chain, bounty_id, signer, request.from_block)
    if request.bundle is not None:
        write_evidence(request.bundle, chain, history, service)
        emit(WrittenBundle(bounty_id, str(request.bundle)))
        say(f"evidence written to {request.bundle}")
    report.holds("chain.logs", f"{len(history.events)} logs, up to finalized block {history.chain.finalized.number}")
    check(history, service, report)
    return history, service, chain


def evidence_of(
    chain: ChainClient, bounty_id: BountyId, signer: LocalSigner | None, from_block: int | None = None
) -> tuple[BountyHistory, ServiceEvidence]:
    """All that chain and service say of a final bounty; with a signer the sealed envelopes, too."""
    api = api_of(chain.settings, chain)
    starts = first_blocks(chain, api, bounty_id) if from_block is None else [BlockNumber(from_block)]
    history = _history(chain, bounty_id, starts, beacon=signer is not None)
    if signer is not None:
        _require_reader(history, signer)
    service = collect_service(api, history, signer)
    with chain_errors():
        service.active_until = tuple(chain.hub.roster(history.roster.version).last_active_at)
    return history, service


def write_evidence(path: Path, chain: ChainClient, history: BountyHistory, service: ServiceEvidence) -> None:
    """The bundle, in a new file."""
    write_bundle(path, history.chain, service, _label(chain))


def _from_bundle(
    settings: Settings | None, source: Path, wanted: BountyId | None, report: Report
) -> tuple[BountyHistory, ServiceEvidence, Callable[[int], str]]:
    bundle = read_bundle(source)
    judge_manifest(bundle, wanted, report)
    history = read_history(_with_pinned_beacon(settings, bundle.chain))
    _judge_deployment(settings, bundle.chain, report)
    report.not_checked("chain.logs", "whether the chain holds these logs takes an RPC endpoint; run it without --from")
    check(history, bundle.service, report)
    if (token := bundle.token) is None:
        return history, bundle.service, base_units
    detail = (
        f"amounts are shown with {token.decimals} decimals, as the bundle states; to compare them takes an RPC endpoint"
    )
    report.not_checked("bundle.token", detail)
    return history, bundle.service, lambda value: amount(value, token)


def _label(chain: ChainClient) -> TokenLabel | None:
    """The token as it describes itself; None of one that does not."""
    try:
        return TokenLabel(chain.token.symbol, chain.token.decimals)
    except ServiceError:
        return None


def _judge_deployment(settings: Settings | None, chain: ChainEvidence, report: Report) -> None:
    """Chain and Hub of a bundle are those of the deployment that was meant, where one is configured."""
    if settings is None or not settings.knows("SERVICE_HUB_ADDRESS"):
        report.not_checked("bundle.deployment", f"no Hub is configured; the bundle says {chain.hub_address}")
        return
    pairs = (
        ("chain_id", chain.chain_id, settings.chain_id),
        ("hub_address", chain.hub_address, settings.hub_address()),
    )
    found = [differing(name, theirs, ours) for name, theirs, ours in pairs if theirs != ours]
    report.judge("bundle.deployment", found, "chain and Hub are those that are configured")


def _with_pinned_beacon(settings: Settings | None, chain: ChainEvidence) -> ChainEvidence:
    """A known network's beacon comes from its record; another one's is taken only where its hash is configured."""
    record = deployment_of(chain.chain_id)
    pinned = record.beacon if record is not None else None
    if pinned is not None and pinned.genesis_time is not None and pinned.period_seconds is not None:
        genesis = UnixSeconds(pinned.genesis_time)
        return replace(chain, beacon=BeaconInfo(pinned.chain_hash, pinned.public_key, genesis, pinned.period_seconds))
    try:
        wanted = None if settings is None else settings.beacon().chain_hash
    except ServiceError:
        wanted = None
    same = chain.beacon is not None and chain.beacon.chain_hash == wanted
    return chain if same else replace(chain, beacon=None)


def _history(chain: ChainClient, bounty_id: BountyId, starts: list[BlockNumber], *, beacon: bool) -> BountyHistory:
    """The history from the first of these blocks that is before the bounty's creation."""
    for start in starts[:-1]:
        try:
            return read_history(collect_chain(chain, bounty_id, start, beacon=beacon))
        except CommandRefused as refused:
            if refused.code != "log_incomplete":
                raise
            warn("the API named a block after the bounty's creation; reading the whole log instead")
    return read_history(collect_chain(chain, bounty_id, starts[-1], beacon=beacon))


def _require_reader(history: BountyHistory, signer: LocalSigner) -> None:
    """Refuse a key that the content route would refuse, before anything is signed."""
    if signer.address not in {history.created.event.poster, *history.roster.accounts}:
        message = f"{signer.address} is neither the Poster nor a Guardian of bounty {history.chain.bounty_id}."
        raise CommandRefused(
            "not_a_reader", message, next_action="Leave --sign-as away, or use the Poster's or a Guardian's key."
        )


def _finish(
    history: BountyHistory, service: ServiceEvidence, report: Report, request: Request, shown: Callable[[int], str]
) -> None:
    summary = paragraph(history, report, shown)
    show_summary(summary, report)
    if request.page is not None:
        write_page(request.page, history, report, service, shown)
        emit(WrittenPage(history.chain.bounty_id, str(request.page)))
        say(f"the page is {request.page}")
    counts = {result.value: report.counts[result] for result in CheckResult}
    emit(AuditTotal(history.chain.bounty_id, history.digest(), **counts))
    totals = f"{counts['holds']} hold, {counts['differs']} differ, {counts['not_checked']} not checked"
    if report.differing:
        message = f"Not everything holds ({totals}): {', '.join(report.differing)}"[:1_000]
        raise CommandRefused(
            "audit_differs", message, next_action="Trust the chain; show the differences to the operator."
        )
    if request.strict and counts["not_checked"]:
        message = f"Not everything was checked ({totals})."
        raise CommandRefused("audit_incomplete", message, next_action="The lines above say what each check needs.")
