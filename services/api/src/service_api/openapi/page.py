"""The document as one self-contained page: no script, no font and no style from anywhere else."""

import json
from functools import cache
from html import escape

from service_common.errors import PROBLEMS

from service_api.openapi.document import openapi_document
from service_api.openapi.operations import OPERATIONS, Operation
from service_api.openapi.schemas import COMPONENTS

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;"
    "background:#fff}code,pre{font:14px/1.45 ui-monospace,monospace}pre{background:#f4f6f8;padding:.75rem;"
    "overflow-x:auto;border-radius:6px}section{border-top:1px solid #d5dae0;margin-top:1.5rem}h2{font-size:1.1rem}"
    "table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1rem .15rem 0;vertical-align:top}"
    "details>summary{cursor:pointer}.signed{color:#8a3800}@media(prefers-color-scheme:dark){body{background:#15181c;"
    "color:#e3e7ec}pre{background:#1e2329}section{border-color:#343b44}a{color:#8ab4ff}.signed{color:#ffb27d}}"
)


@cache
def docs_page() -> str:
    """The page's HTML."""
    information = openapi_document()["info"]
    introduction = information["description"] if isinstance(information, dict) else ""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>Bounty Escrow Service: HTTP API</title><style>{_STYLE}</style>",
        f"<h1>Bounty Escrow Service: HTTP API</h1><p>{escape(introduction)}</p>",
        "<p>The same for programs: <a href=openapi.json>openapi.json</a>.</p><ul>",
        *(f"<li><a href='#{_anchor(each)}'><code>{each.method} {each.path}</code></a></li>" for each in OPERATIONS),
        "</ul>",
        *(_section(operation) for operation in OPERATIONS),
        "<section><h2 id=schemas>Objects and values</h2>",
        *(
            f"<details id='schema-{name}'><summary><code>{name}</code></summary>{_pre(schema)}</details>"
            for name, schema in COMPONENTS.items()
        ),
        "</section></html>\n",
    ]
    return "".join(parts)


def _section(operation: Operation) -> str:
    access = f"<p class=signed>Signed by {escape(operation.signer)}.</p>" if operation.signer else "<p>Public.</p>"
    query = "".join(
        f"<tr><td><code>{name}</code><td>{'required' if name in operation.required_query else 'optional'}"
        for name in operation.query or ()
    )
    body = f"<p>Body: <code>{operation.body_type}</code> {_link(operation.body)}</p>" if operation.body else ""
    errors = "".join(
        f"<tr><td>{PROBLEMS[code].status}<td><code>{code}</code><td>{escape(PROBLEMS[code].next_action)}"
        for code in sorted(operation.codes, key=lambda code: PROBLEMS[code].status)
    )
    return (
        f"<section id='{_anchor(operation)}'><h2><code>{operation.method} {operation.path}</code></h2>"
        f"<p>{escape(operation.summary)}</p>{access}{f'<table>{query}</table>' if query else ''}{body}"
        f"<p>Answer: <code>{operation.media_type}</code> {_link(operation.answer)}</p>"
        f"<details><summary>Errors</summary><table>{errors}</table></details></section>"
    )


def _link(name: str) -> str:
    return "" if "/" in name else f"<a href='#schema-{name}'>{name}</a>"


def _pre(value: object) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2))}</pre>"


def _anchor(operation: Operation) -> str:
    return f"{operation.method}-{operation.path.strip('/')}".replace("/", "-").replace("{", "").replace("}", "")
