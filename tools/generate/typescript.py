"""The files of the TypeScript client that are made from the API's OpenAPI document, the Hub's ABI and its refusals, and
from the tables of names that tools obey, of characters that nobody sees, and of facts and their witnesses; and what
Unicode 14 assigns.
"""

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bounty_protocol.chain.deployment import NETWORKS, deployment_of
from bounty_protocol.chain.eip3009 import AUTHORIZATION_SECONDS
from bounty_protocol.chain.reverts import SENTENCES, TIMES
from bounty_protocol.crypto.code_points import RUNS
from bounty_protocol.crypto.inert_names import HARMLESS, OBEYED
from bounty_protocol.domain.challenge.invisible_characters import JOINERS, SELECTORS, UNSEEN_RANGES
from bounty_protocol.errors import PROBLEMS
from bounty_protocol.readiness.key_forms import AGE_KEY
from bounty_protocol.wire.submissions import MAX_CONTENTS
from local_stack.toolbox import ensure_npm_package
from service_cli.acts.escrows import FUNDED_QUERY, MOST_LISTED
from service_cli.acts.fund import MARGIN_SECONDS
from service_cli.chain.agreement import Fact
from service_cli.chain.receipts import RECENT_SECONDS
from service_cli.config.likely_secrets import BEGIN_BYTES, KEY_LINE, SECRET_NAMES
from service_cli.ui.text import CLOCK_SECONDS

from tests.api.contract import openapi_document
from tests.clients.package import PACKAGE, run_node
from tools.generate.derived import TOP, Derived

_FOLDER: Final = "clients/typescript/src/generated"
_ABI: Final = TOP / "libs/bounty_protocol/src/bounty_protocol/chain/abi/Hub.json"
_MADE: Final = "// Made by tools/generate/typescript.py. Do not edit.\n\n"


def _contents() -> Mapping[str, bytes]:
    made = {
        "openapi.ts": _types(),
        "signed.ts": _signed(),
        "codes.ts": _codes(),
        "hub.ts": _hub(),
        "refusals.ts": _refusals(),
        "names.ts": _names(),
        "secrets.ts": _secrets(),
        "witnesses.ts": _witnesses(),
    }
    return {f"{_FOLDER}/{name}": text.encode() for name, text in made.items()}


def _types() -> str:
    modules = ensure_npm_package(PACKAGE)
    with tempfile.TemporaryDirectory() as folder:
        document, target = Path(folder) / "openapi.json", Path(folder) / "openapi.ts"
        document.write_text(json.dumps(openapi_document()))
        run_node(modules / "openapi-typescript/bin/cli.js", document, "--output", target)
        return _MADE + target.read_text(encoding="utf-8")


def _signed() -> str:
    operations = [
        f"{method.upper()} {path}"
        for path, methods in openapi_document()["paths"].items()
        for method, operation in methods.items()
        if isinstance(operation, dict) and operation.get("security")
    ]
    lines = "".join(f"  {json.dumps(operation)},\n" for operation in sorted(operations))
    comment = "/** The operations that carry a signature: method and path as in the OpenAPI document. */\n"
    return f"{_MADE}{comment}export const SIGNED_OPERATIONS: ReadonlySet<string> = new Set([\n{lines}]);\n"


def _codes() -> str:
    lines = "".join(f"\n  | {json.dumps(code)}" for code in sorted(PROBLEMS))
    comment = "/** The codes with which the API refuses (docs/interface.md, Errors). */\n"
    return f"{_MADE}{comment}export type ApiCode ={lines};\n"


def _hub() -> str:
    entries = [_without_internal_types(entry) for entry in json.loads(_ABI.read_text(encoding="utf-8"))]
    lines = "".join(f"  {json.dumps(entry)},\n" for entry in entries)
    comment = "/** The Hub's ABI, from which viem infers every call, event and error. */\n"
    return f"{_MADE}{comment}export const hubAbi = [\n{lines}] as const;\n"


def _refusals() -> str:
    lines = "".join(f"  {name}: {json.dumps(list(text))},\n" for name, text in sorted(SENTENCES.items()))
    comment = "/** The Hub's errors: what is refused, and what to do next. Names in braces are the error's values. */\n"
    kind = "Readonly<Record<string, readonly [string, string]>>"
    times = ", ".join(map(json.dumps, sorted(TIMES)))
    return (
        f"{_MADE}{comment}export const REFUSALS: {kind} = {{\n{lines}}};\n"
        f"\n/** Values of these errors that are seconds since 1970. */\n"
        f"export const REFUSED_TIMES: ReadonlySet<string> = new Set([{times}]);\n"
    )


def _names() -> str:
    """Return the patterns of the table: Python's expressions are JavaScript's, too."""
    patterns = "".join(f"  [{json.dumps(one.pattern)}, {json.dumps(one.files_only)}],\n" for one in OBEYED)
    harmless = "".join(f"  {json.dumps(name)},\n" for name in HARMLESS)
    unseen = "".join(f"\\u{{{first:X}}}-\\u{{{last:X}}}" for first, last in UNSEEN_RANGES)
    joiners, selectors = ("".join(f"\\u{{{ord(each):X}}}" for each in some) for some in (JOINERS, SELECTORS))
    return (
        f"{_MADE}/** Names that tools obey, as expressions over a whole folded name; whether of files alone. */\n"
        f"export const OBEYED: readonly (readonly [string, boolean])[] = [\n{patterns}];\n\n"
        f"/** Hidden names that nothing is done with. */\n"
        f"export const HARMLESS: ReadonlySet<string> = new Set([\n{harmless}]);\n\n"
        f"/** Characters that nobody sees, as a part of a class of an expression. */\n"
        f"export const UNSEEN = String.raw`{unseen}`;\n"
        f"export const JOINERS = String.raw`{joiners}`;\n"
        f"export const SELECTORS = String.raw`{selectors}`;\n\n"
        "/** How many code points Unicode 14 assigns from 0 on, then how many it does not, by turns. */\n"
        f"export const RUNS: readonly number[] = {list(RUNS)};\n"
    )


def _secrets() -> str:
    """Return the patterns; a name's star is any letters, and the expressions are both languages'."""
    forms = ", ".join(f"/^{re.escape(name).replace(re.escape('*'), '.*')}$/s" for name in SECRET_NAMES)
    return (
        f"{_MADE}/** Names of files and directories, in lower case, that should not be passed on. */\n"
        f"export const SECRET_NAMES: readonly RegExp[] = [{forms}];\n"
        f"/** How the first line of a private key begins that is neither empty nor a comment. */\n"
        f"export const KEY_LINE = /^(?:{KEY_LINE})/;\n"
        f"/** In which that line is looked for. */\n"
        f"export const BEGIN_BYTES = {BEGIN_BYTES};\n\n"
        f"/** A private key of age, wherever it is in a text. */\n"
        f"export const AGE_KEY = /{AGE_KEY}/i;\n"
    )


def _witnesses() -> str:
    facts = "".join(f"  {fact.name.lower()}: {json.dumps(fact.value)},\n" for fact in Fact)
    records = [record for chain_id in NETWORKS.values() if (record := deployment_of(chain_id)) is not None]
    known = [record for record in records if record.reveal_delay_seconds is not None]
    delays = ", ".join(f"{record.chain_id}: {record.reveal_delay_seconds}n" for record in known)
    return (
        f"{_MADE}/** What an act rests on, in words, and the code when two who vouch for it differ. */\n"
        f"export const FACTS = {{\n{facts}}} as const;\n\n"
        f"/** How far a clock and the newest block may be apart, in seconds. */\n"
        f"export const CLOCK_SECONDS = {CLOCK_SECONDS}n;\n"
        f"/** How long an authorization is good at most, in seconds. */\n"
        f"export const AUTHORIZATION_SECONDS = {AUTHORIZATION_SECONDS}n;\n"
        "/** How long before its end an authorization is used no more, in seconds. */\n"
        f"export const MARGIN_SECONDS = {MARGIN_SECONDS}n;\n"
        f"/** How far back the Hub's log is read for what cannot be older, in seconds. */\n"
        f"export const RECENT_SECONDS = {RECENT_SECONDS}n;\n"
        f"/** The Hub's reveal delay in seconds, by chain id, where the network's record has it. */\n"
        f"export const REVEAL_DELAYS: Readonly<Record<number, bigint>> = {{ {delays} }};\n\n"
        f"/** Asks the API for the bounties of an account on a page. */\n"
        f"export const FUNDED_QUERY =\n  {json.dumps(FUNDED_QUERY)};\n"
        "/** Bounties of one account on one page that are looked through. */\n"
        f"export const MOST_LISTED = {MOST_LISTED};\n\n"
        "/** Submissions that one signed request reads. */\n"
        f"export const MOST_CONTENTS = {MAX_CONTENTS};\n"
    )


def _without_internal_types(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_internal_types(item) for key, item in value.items() if key != "internalType"}
    return [_without_internal_types(item) for item in value] if isinstance(value, list) else value


TYPESCRIPT: Final = Derived("typescript", _contents, _FOLDER)
