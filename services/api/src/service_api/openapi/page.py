"""The document as one self-contained page: no script, no font and no style from anywhere else."""

import json
from html import escape
from typing import Any

from bounty_protocol.errors import PROBLEMS

Json = dict[str, Any]

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;"
    "background:#fff}code,pre{font:14px/1.45 ui-monospace,monospace}pre{background:#f4f6f8;padding:.75rem;"
    "overflow-x:auto;border-radius:6px}section{border-top:1px solid #d5dae0;margin-top:1.5rem}h2{font-size:1.1rem}"
    "table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1rem .15rem 0;vertical-align:top}"
    "details>summary{cursor:pointer}.signed{color:#8a3800}@media(prefers-color-scheme:dark){body{background:#15181c;"
    "color:#e3e7ec}pre{background:#1e2329}section{border-color:#343b44}a{color:#8ab4ff}.signed{color:#ffb27d}}"
)


def docs_page(document: Json) -> str:
    """Return the page's HTML."""
    operations = [
        (method.upper(), path, {**operation, "parameters": [*methods.get("parameters", ()), *operation["parameters"]]})
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method != "parameters"
    ]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>Bounty Escrow Service: HTTP API</title><style>{_STYLE}</style>",
        f"<h1>Bounty Escrow Service: HTTP API</h1><p>{escape(document['info']['description'])}</p>",
        "<p>The same for programs: <a href=openapi.json>openapi.json</a>.</p><ul>",
        *(f"<li><a href='#{_anchor(*each)}'><code>{each[0]} {each[1]}</code></a></li>" for each in operations),
        "</ul>",
        *(_section(*each) for each in operations),
        "<section><h2 id=schemas>Objects and values</h2>",
        *(
            f"<details id='schema-{name}'><summary><code>{name}</code></summary>{_pre(schema)}</details>"
            for name, schema in document["components"]["schemas"].items()
        ),
        "</section></html>\n",
    ]
    return "".join(parts)


def _section(method: str, path: str, operation: Json) -> str:
    access = f"<p class=signed>{escape(operation['description'])}</p>" if operation["security"] else "<p>Public.</p>"
    query = "".join(
        f"<tr><td><code>{each['name']}</code><td>{'required' if each['required'] else 'optional'}"
        for each in operation["parameters"]
        if each["in"] == "query"
    )
    return (
        f"<section id='{_anchor(method, path, operation)}'><h2><code>{method} {path}</code></h2>"
        f"<p>{escape(operation['summary'])}</p>{access}{f'<table>{query}</table>' if query else ''}"
        f"{_content('Body', operation.get('requestBody', {}))}{_content('Answer', operation['responses']['200'])}"
        f"<details><summary>Errors</summary><table>{_errors(operation['responses'])}</table></details></section>"
    )


def _content(what: str, described: Json) -> str:
    return "".join(
        f"<p>{what}: <code>{media_type}</code> {_link(content['schema'])}</p>"
        for media_type, content in described.get("content", {}).items()
    )


def _errors(responses: Json) -> str:
    return "".join(
        f"<tr><td>{status}<td><code>{code}</code><td>{escape(PROBLEMS[code].next_action)}"
        for status, answer in sorted(responses.items())
        for code in dict.fromkeys(
            code for content in answer.get("content", {}).values() for code in content.get("examples", {})
        )
    )


def _link(schema: Json) -> str:
    name = schema.get("$ref", "").rpartition("/")[2]
    return f"<a href='#schema-{name}'>{name}</a>" if name else ""


def _pre(value: object) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2))}</pre>"


def _anchor(method: str, path: str, _: Json) -> str:
    return f"{method}-{path.strip('/')}".replace("/", "-").replace("{", "").replace("}", "")
