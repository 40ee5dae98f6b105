"""A name server on this machine that answers as a test wants, or is silent."""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

Records = Callable[[str], Sequence[str] | None]
"""The IPv4 addresses of a name; None for silence."""


@contextmanager
def name_server(records: Records) -> Iterator[list[tuple[str, int]]]:
    """Where it listens, as ``Names`` takes it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        thread = Thread(target=_serve, args=(server, records), daemon=True)
        thread.start()
        try:
            yield [server.getsockname()]
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", server.getsockname())
            thread.join()


def _serve(server: socket.socket, records: Records) -> None:
    while (received := server.recvfrom(4_096))[0]:
        query = dns.message.from_wire(received[0])
        question = query.question[0]
        found = records(str(question.name).rstrip("."))
        if found is None:
            continue
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if not found:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        elif question.rdtype == dns.rdatatype.A:
            answer.answer.append(dns.rrset.from_text(question.name, 1, "IN", "A", *found))
        try:
            server.sendto(answer.to_wire(max_size=query.payload), received[1])
        except dns.exception.TooBig:
            answer.answer.clear()
            answer.flags |= dns.flags.TC
            server.sendto(answer.to_wire(), received[1])
