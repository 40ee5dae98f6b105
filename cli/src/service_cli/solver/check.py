"""``solver:submit --check``: what would be sealed and what it would cost; nothing is sealed, signed or sent."""

from pathlib import Path

from service_common.types import ZERO_BYTES32, BountyId

from service_cli.chain.signer import Signer
from service_cli.chain.transactions import gas_cost, simulate
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.shell.output import event, remark
from service_cli.shell.text import About, moment, wei
from service_cli.solver.recording import active
from service_cli.solver.selection import named, printable_path, report_files, report_left_out, select
from service_cli.solver.submission import (
    SubmitOptions,
    check_terms,
    find_secrets,
    is_accepting,
    open_work,
    placeholder,
)


def check_submission(
    settings: Settings, signer: Signer, bounty_id: BountyId, directory: Path, options: SubmitOptions
) -> None:
    """The command ``solver:submit --check``; refuses what ``solver:submit`` would refuse but for secrets."""
    work = open_work(settings, signer, bounty_id)
    now = work.chain.latest().time
    deadline = moment(work.bounty.submission_deadline, now)
    if not is_accepting(work):
        message = f"The bounty accepts no Submissions since {deadline}."
        raise CommandRefused("bounty_not_accepting", message, next_action="Look for bounties that accept Submissions.")
    selection = select(directory, use_gitignore=options.use_gitignore)
    report_left_out(selection)
    report_files(selection)
    secrets = find_secrets(work, selection)
    simulate(work.chain, work.solver, placeholder(work))
    cost, balance = gas_cost(work.chain, work.solver, placeholder(work)), work.chain.balance(work.solver)
    former = active(work)
    if not options.without_api:
        check_terms(work, work.session.api, options)
    warnings = [
        *([f"the Guardians and the Poster would read what looks like secrets: {named(secrets)}"] if secrets else []),
        *([f"{work.solver} holds {wei(balance)}, less than the gas may cost"] if balance < cost.wei else []),
        *(
            [f"other files than those recorded would replace your Submission {former}, and count from their own block"]
            if former != ZERO_BYTES32
            else []
        ),
    ]
    event(
        "submit.checked",
        {
            "bounty_id": str(bounty_id),
            "solver": work.solver,
            "file_count": len(selection.files),
            "byte_length": selection.byte_length,
            "left_out_count": len(selection.left_out),
            "secret_files": [printable_path(path) for path in secrets],
            "gas": cost.gas,
            "gas_cost": str(cost.wei),
            "balance": str(balance),
            "submission_deadline": work.bounty.submission_deadline,
            "reveal_at": work.bounty.reveal_at,
            "replaces": None if former == ZERO_BYTES32 else former,
            "warnings": warnings,
        },
        lambda: About(now=now, path=str(directory)),
    )
    remark(f"to be submitted before {deadline}; nobody can read it until {moment(work.bounty.reveal_at, now)}")
    remark(f"recording it takes {cost.gas} gas, at most {wei(cost.wei)}")
    for warning in warnings:
        remark(f"warning: {warning}", urgent=True)
    remark("nothing was sealed, signed or sent")
