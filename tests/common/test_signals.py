"""A signal that another thread of a process gets is handled while the main thread waits, and once."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, threading, time
from service_common.signals import handle_signals_in_thread

handle_signals_in_thread()
if sys.argv[1] == "fork":
    if child := os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    handle_signals_in_thread()
waits, heard = threading.Lock(), []

def handle(number, frame):
    heard.append(number)
    waits.release()

def get_it():
    time.sleep(0.3)  # until the main thread waits
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

signal.signal(signal.SIGTERM, handle)
threading.Thread(target=get_it).start()
waits.acquire()
waits.acquire()
time.sleep(0.5)
print(*heard)
"""


@pytest.mark.parametrize("process", ["itself", "fork"])
def test_signal__that_another_thread_gets__is_handled_once(process: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, process], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "15\n"
