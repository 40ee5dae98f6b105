"""One look at a deployment, from the first requirement to the last line."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from service_cli.conformance import public, refusals, signed
from service_cli.conformance.asking import Broken, ExaminedApi, NotChecked
from service_cli.conformance.events import ConformanceTotal, Conformity, RequirementChecked
from service_cli.conformance.public import Known
from service_cli.errors import CommandRefused
from service_cli.shell.output import emit


@dataclass(frozen=True, slots=True)
class Requirement:
    """What is demanded of a deployment, and how it is looked at: the check returns what it saw."""

    name: str
    check: Callable[[Known], str]
    demands: str


def requirements(rpc_url: str | None) -> Iterator[Requirement]:
    """Every requirement, in the order in which they build on each other; a check's docstring says what it demands."""
    checks: dict[str, Callable[..., str]] = {
        "deployment.facts": public.deployment_facts,
        "deployment.status": public.status_facts,
        "deployment.chain": signed.chain_facts,
        "documents.present": public.documents,
        "list.pages": public.list_pages,
        "list.order": public.list_order,
        "list.filters": public.list_filters,
        "bounty.detail": public.bounty_details,
        "bounty.challenge": public.challenge_bytes,
        "account.unknown": public.unknown_account,
        "answer.not_modified": public.not_modified,
        "changes.pages": public.change_pages,
        "graphql.facts": public.graphql_facts,
        "graphql.refusals": refusals.graphql,
        "page.check": public.page_check,
        "refusals.routes": refusals.routes,
        "refusals.identifiers": refusals.identifiers,
        "refusals.queries": refusals.queries,
        "refusals.bodies": refusals.bodies,
        "signature.missing": signed.without_a_signature,
        "signature.altered": signed.altered_signatures,
    }
    of_chain = {signed.chain_facts, signed.altered_signatures}
    for name, check in checks.items():
        demands = " ".join((check.__doc__ or "").split()).rstrip(".").replace("``", "")
        yield Requirement(name, partial(check, rpc_url=rpc_url) if check in of_chain else check, demands)


def conform(url: str, rpc_url: str | None, *, strict: bool) -> None:
    """The command ``service-conformance``."""
    deployed = ExaminedApi(url)
    known, results = Known(deployed), list[RequirementChecked]()
    for each in requirements(rpc_url):
        results.append(looked_at(each, known))
        emit(results[-1])
    counts = Counter(each.result for each in results)
    met, broken, not_checked = (counts[each] for each in Conformity)
    emit(ConformanceTotal(url, met, broken, not_checked, deployed.requests))
    if broken:
        names = ", ".join(each.requirement for each in results if each.result is Conformity.BROKEN)
        message = f"The deployment does not conform: {names}."
        raise CommandRefused("does_not_conform", message, next_action="Show the lines above to its operator.")
    if strict and not_checked:
        message = f"{not_checked} requirements were not checked."
        raise CommandRefused("not_all_checked", message, next_action="The lines above say what each check needs.")


def looked_at(requirement: Requirement, known: Known) -> RequirementChecked:
    """How one requirement is met. What a check cannot make sense of breaks it."""
    try:
        result, detail = Conformity.MET, requirement.check(known)
    except Broken as broken:
        result, detail = Conformity.BROKEN, str(broken)
    except NotChecked as missing:
        result, detail = Conformity.NOT_CHECKED, str(missing)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as strange:
        result, detail = Conformity.BROKEN, f"an answer of another shape than is specified ({type(strange).__name__})"
    return RequirementChecked(requirement.name, requirement.demands, result, detail)
