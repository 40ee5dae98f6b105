"""Events about this machine, its accounts and the service as text: config, doctor, status, audit."""

from collections.abc import Iterator

from service_cli.shell.render.fields import Fields, time_left, to_the_minute, tokens
from service_cli.shell.render.screen import Column, Fact, Heading, Item, Row, Screen, Shown
from service_cli.shell.text import About, ether

_TASKS = (Column("BOUNTY"), Column("WHAT"), Column("LEFT"), Column("UNTIL (UTC)", optional=1))
_WHAT = {"judge": "judge", "claim": "claim", "claim_fee": "claim your share", "open": "open the work"}


def _setting(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    name, value = screen.strong(fields.text("name")), fields.maybe("value")
    if value is None:
        yield f"{name} is not set"
    else:
        yield f"{name} = {value} ({fields.text('source')})"


def _accepted(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    yield f"{screen.good('Done.')} You accepted {fields.text('path', 600)} as it is; commands sign with what it sets."
    yield Fact("Sets", ", ".join(fields.texts("variables")))
    if differing := fields.texts("differing"):
        yield Fact("Differs", f"from the network's record: {', '.join(differing)}")
    yield Fact("Content", fields.text("digest"), whole=True)


def _revoked(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    yield f"{screen.good('Done.')} {fields.text('path', 600)} is not accepted any more: nothing is signed with it."


def _check(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    name, detail, fix = fields.text("name"), fields.text("detail", 600), fields.maybe("fix")
    if fields.values["ok"]:
        yield f"{screen.good('ok')}    {screen.strong(name)}: {detail}"
    elif detail.startswith("skipped"):
        yield f"{screen.quiet('skip')}  {screen.strong(name)}: {detail}"
    else:
        yield f"{screen.bad('FAIL')}  {screen.strong(name)}: {detail}"
        yield Fact("Fix", fix or "see service-cli config")


def _account(fields: Fields, about: About, _screen: Screen) -> Iterator[Item]:
    roles = ", ".join(role.capitalize() for role in fields.texts("roles"))
    yield Heading(fields.text("account"))
    yield Fact("Roles", roles or "none whose key is configured")
    yield Fact("Holds", f"{tokens(fields.whole('token_balance'), about.token)}, {ether(fields.whole('balance_wei'))}")
    if allowed := fields.whole("allowance"):
        yield Fact("The Hub may", f"take {tokens(allowed, about.token)} of it")


def _task(fields: Fields, _about: About, screen: Screen) -> Iterator[Shown]:
    until = fields.maybe_whole("until")
    task = fields.text("task")
    cells = (fields.text("bounty_id"), _WHAT.get(task, task), time_left(until, screen), to_the_minute(until))
    yield Row(_TASKS, cells, note=fields.text("command"))


def _status_done(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    accounts, tasks = fields.whole("accounts"), fields.whole("tasks")
    if not accounts:
        yield "No key is configured and no --address is given, so there is no account to look at."
        yield Fact("Next", "service-cli config shows what is set", whole=True)
    elif not tasks:
        yield "Nothing waits for you."
    else:
        yield "1 thing waits for you." if tasks == 1 else f"{tasks} things wait for you, the soonest deadline first."


def _audit_check(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    subject, result = fields.maybe("subject"), fields.text("result")
    name = fields.text("check") + (f" {subject}" if subject else "")
    detail = fields.text("detail", 600)
    if result == "holds":
        yield f"{screen.good('holds')}        {name}: {detail}"
    elif result == "not_checked":
        yield f"{screen.quiet('not checked')}  {name}: {detail}"
    else:
        yield f"{screen.bad('DIFFERS')}      {name} (should be: {detail})"
        for each in fields.rows("differences"):
            yield Fact("", f"{each.text('path')}: found {each.text('found')}, expected {each.text('expected')}")


def _bundle_written(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"The evidence on bounty {fields.text('bounty_id')} is in {fields.text('path')}."


def _page_written(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"The page on bounty {fields.text('bounty_id')} is {fields.text('path')}."


def _audit_finished(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    if about.summary is not None:
        yield about.summary
    holds, differs, unchecked = (fields.whole(name) for name in ("holds", "differs", "not_checked"))
    sign = screen.bad("Not everything holds.") if differs else screen.good("Everything that was checked holds.")
    yield f"{sign} Bounty {fields.text('bounty_id')}: {holds} hold, {differs} differ, {unchecked} not checked."
    yield Fact("Log digest", fields.text("log_digest"), whole=True)


TEXTS = {
    "config.value": _setting,
    "env_allow.accepted": _accepted,
    "env_allow.revoked": _revoked,
    "doctor.check": _check,
    "status.account": _account,
    "status.task": _task,
    "status.done": _status_done,
    "service_audit.check": _audit_check,
    "service_audit.bundle_written": _bundle_written,
    "service_audit.page_written": _page_written,
    "service_audit.finished": _audit_finished,
}
