"""Review a challenge page before anything is paid: the issues that the rules and the Hub find, line by line.

python check_page.py deployment.json page.md
"""

import json
import sys
from pathlib import Path

from service_cli import Client

client = Client(json.loads(Path(sys.argv[1]).read_text()))
page = Path(sys.argv[2])
findings = client.check_page(page.read_bytes())
for found in findings:
    print(f"{page}:{found.line}: {found.field}: {found.message}")
sys.exit(1 if findings else 0)
