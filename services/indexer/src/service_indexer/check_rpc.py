"""``service-indexer check-rpc``: whether RPC providers are fit for this Hub, before anybody pays for them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from bounty_protocol.chain.json_rpc import host_of
from bounty_protocol.clock import Clock, SystemClock
from service_common.config import EnvironmentReader

from service_indexer.config import read_reading_settings
from service_indexer.patient_rpc import PatientRpc
from service_indexer.provider import Fitness, RpcFinding, RpcProvider, check_provider


def check_rpc(
    environment: Mapping[str, str], url: str | None, *, as_json: bool, clock: Clock | None = None
) -> Iterator[tuple[str, bool]]:
    """The text and the result of each endpoint: of ``url``, or of each that the environment names.

    Raises ``ConfigurationError``. Of the environment only the chain's settings are read.
    """
    if url is not None:
        environment = {**environment, "SERVICE_RPC_URLS": url, "SERVICE_RPC_URLS_FILE": ""}
    reader = EnvironmentReader(environment)
    reading = read_reading_settings(reader)
    reader.check()
    clock = clock or SystemClock()
    for each in reading.chain.rpc_urls:
        findings = list(check_provider(RpcProvider(PatientRpc(each, clock), reading, each, clock)))
        unfit = [finding.check for finding in findings if finding.verdict is Fitness.UNFIT]
        show = as_one_line if as_json else as_table
        yield show(host_of(each), findings, unfit), not unfit


def as_one_line(host: str, findings: Sequence[RpcFinding], unfit: Sequence[str]) -> str:
    """An object for programs."""
    return json.dumps({"endpoint": host, "fit": not unfit, "checks": [asdict(finding) for finding in findings]})


def as_table(host: str, findings: Sequence[RpcFinding], unfit: Sequence[str]) -> str:
    """Lines for people."""
    lines = [host]
    for finding in findings:
        lines.append(f"  {finding.verdict:<6} {finding.check:<11} {finding.found}")
        follows = finding.follows + (f" ({finding.setting})" if finding.setting else "")
        lines += [f"{'':<21}-> {follows}"] if follows else []
    lines.append(f"  not fit: {', '.join(unfit)}" if unfit else "  fit")
    return "\n".join(lines)
