"""``service-cli help TOPIC``: what all commands have in common, for somebody who has the wheel and no documents."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple


class Topic(NamedTuple):  # no dataclass: see OutputChoice
    """One text; ``line`` is its entry in the overview."""

    line: str
    text: Callable[[], str]


def _keys() -> str:
    from service_cli.config.environment import PASSPHRASE_FORMS, SECRETS, KeyForm, passphrase_of

    poster = SECRETS[0]
    passphrases = " or ".join(form.variable(passphrase_of(poster)) for form in PASSPHRASE_FORMS)
    names = "\n".join(f"  {name}" for name in SECRETS)
    return f"""\
Keys are set by variables, one for each role:

{names}

Each is set in one of these forms, here for a Poster:

  {KeyForm.VARIABLE.variable(poster)}
      the key itself: 32 bytes in hexadecimal digits
  {KeyForm.FILE.variable(poster)}
      a file of mode 600 that holds it, or a pipe: <(pass show poster)
  {KeyForm.COMMAND.variable(poster)}
      a command that prints it, such as: pass show poster; exported, or in the
      table [keys] of the configuration file, never from a .env
  {KeyForm.KEYSTORE.variable(poster)}
      a keystore (Web3 Secret Storage, version 3); its passphrase is typed, or
      comes from {passphrases.replace(" or ", chr(10) + "      or ")}

The last one, {SECRETS[-1]}, holds a Guardian's
encryption keys; guardian:new-key makes them. It takes no keystore.

A key is never an argument. It is taken out of the environment of child
processes, and looked for in everything that you publish or submit.

Solvers and Claimants need no key here: --solver-address and --claimant-address
name the account of a wallet, and what it is to sign and send is printed.
"""


def _networks() -> str:
    from bounty_protocol.chain.deployment import NETWORKS, deployment_of

    from service_cli.config.settings import BEACON, OVERRIDES

    rows = []
    for name, chain_id in NETWORKS.items():
        record = deployment_of(chain_id)
        known = None if record is None else record.hub_address
        hub = "its Hub is in no record here: set SERVICE_HUB_ADDRESS" if known is None else known
        rows.append(f"  {name:<9}{chain_id:<8}{hub}")
    needed, beacon = ("\n".join(f"  {name}" for name in names) for names in (OVERRIDES, BEACON))
    return f"""\
--network NAME or a chain id, before or after any command; else
SERVICE_CHAIN_ID; else mainnet.

{chr(10).join(rows)}

Single values are set by variables, which win over the network's record:

{needed}

{beacon}

local needs these six, and where something is sealed or opened the beacon's
three; stack.env of the local stack sets them. Values that are missing are
named all at once. A .env in the working directory is a fallback, with which
nothing is signed before env:allow accepted it. service-cli config shows each
value and where it came from; service-cli doctor checks that they fit.

SERVICE_RPC_URLS names further RPC endpoints, separated by commas, that have to
agree before anything is signed. A transaction costs 0.003 ether for gas at
most; more takes a yes, or --max-cost. At most 500 gwei are offered for a unit
of gas, or SERVICE_MAX_GAS_PRICE_GWEI, exported.
"""


def _variables() -> str:
    from textwrap import fill

    from service_cli.config.variables import ABOUT

    texts = (fill(about, 78, initial_indent=" " * 6, subsequent_indent=" " * 6) for about in ABOUT.values())
    named = ("\n".join(f"  {name}" for name in names) for names in ABOUT)
    return "\n".join(f"{names}\n{text}" for names, text in zip(named, texts, strict=True)) + "\n"


def _output() -> str:
    return """\
stdout carries events, one JSON object a line. The first of these chooses:

  --json                      JSON
  --text                      sentences and tables
  SERVICE_OUTPUT              text or json, exported
  output = "text"             in ~/.config/service-cli/config.toml
                              (or below $XDG_CONFIG_HOME)
  else                        JSON

What a wallet or another program takes is JSON in both. stderr carries text for
people in both; --quiet leaves warnings and refusals. A refusal is an event,
too: <command>.refused is final for this state, <command>.failed may pass when
the command is run again; each has code, message and next_action. Amounts in
JSON are whole numbers of the smallest unit, as text. Colour is left out with
--no-color, and with NO_COLOR or TERM=dumb.
"""


def _exit_codes() -> str:
    return """\
  0    done
  1    refused or failed: the last event says why and what to do next
  2    usage: an argument is wrong; nothing was read or done
  130  interrupted by Ctrl-C; run the command again to continue
  143  terminated; the same

Run a command again after any interruption: it continues, and sends money once.
"""


def _files() -> str:
    from service_cli.solver.selection import IGNORE_FILE

    return f"""\
  $XDG_STATE_HOME/service-cli, else ~/.local/state/service-cli
      what every piece of work has done, readable by you alone, without keys;
      with it a command that is run again continues. Keep it until your
      bounties have ended.
  $XDG_CONFIG_HOME/service-cli/config.toml, else ~/.config/...
      output = "text", and a table [keys] of key files, commands and keystores
  .env
      of the working directory: a fallback for variables; see env:allow
  {IGNORE_FILE}
      at the top of a Solver's directory: what is not sealed, as in .gitignore
  submissions/BOUNTY_ID/
      opened work, by guardian:open
  winning-submission/BOUNTY_ID/SUBMISSION_COMMITMENT/
      the winning work, by poster:open-winning-submission
"""


TOPICS: Final[Mapping[str, Topic]] = {
    "keys": Topic("How a key is set, and wallets.", _keys),
    "networks": Topic("Which deployment a command works on; gas.", _networks),
    "variables": Topic("What each variable sets, but for keys.", _variables),
    "output": Topic("Events for programs, text for people.", _output),
    "exit-codes": Topic("How a command ends.", _exit_codes),
    "files": Topic("What is kept where on this machine.", _files),
}
"""By the name that ``help`` takes."""
