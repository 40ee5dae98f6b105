"""The command line of the local storage."""

import argparse
import signal
import sys
import threading
from pathlib import Path

from gcs_twin.cors import parse_rules
from gcs_twin.keys import read_account
from gcs_twin.objects import Objects
from gcs_twin.server import Twin, make_server
from gcs_twin.tokens import Tokens


def main() -> int:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m gcs_twin", description="A local fake of Google Cloud Storage.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--root", type=Path, required=True, help="where objects are kept")
    parser.add_argument("--credentials-file", type=Path, required=True, help="the service account, or its public half")
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--cors-file", type=Path, help="the bucket's CORS rules, as gcloud takes them")
    options = parser.parse_args()
    try:
        account = read_account(options.credentials_file)
        cors = parse_rules(options.cors_file.read_text(encoding="utf-8")) if options.cors_file else ()
        twin = Twin(options.bucket, account, Objects(options.root), Tokens(account), cors)
        server = make_server(options.host, options.port, twin)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"gcs_twin: {error}\n")
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever(poll_interval=0.1)
    server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
