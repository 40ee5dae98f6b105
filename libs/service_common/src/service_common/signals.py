"""Signals handled in a thread, whichever one the kernel gives them to.

Python runs the handlers of signals in the main thread, once that one goes on. The kernel may give a signal to another
thread: one that makes a thread in that moment takes it. The main thread sleeps on then, for as long as it waits for a
lock or an answer, and the process works on as if nobody had asked it to end. Python writes each signal to a file,
whichever thread got it: who reads that wakes the main thread with a signal that no other thread can take.
"""

import os
import signal
import threading
import time
from typing import Final

_WAKE: Final = signal.SIGURG
"""Where nobody handles it, it does nothing."""
_TIMES: Final = 3
_PAUSE_SECONDS: Final = 0.1
"""It may come in the moment before the main thread starts to wait, and be for nothing: a later one is not."""


def handle_signals_in_thread() -> None:
    """Handle every signal of this process from now on, in a thread that ends with it.

    Call it in the main thread, and again in a process that was forked and goes on by itself: it has the handlers of the
    other one, and not its threads.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    if before >= 0:
        os.close(before)  # of the process that this one was forked from, or of an earlier call, whose thread ends
    signal.signal(_WAKE, lambda *_: None)
    main = threading.get_ident()
    threading.Thread(target=_wake, args=(main, reading), daemon=True, name="signals").start()


def _wake(main: int, reading: int) -> None:
    while heard := os.read(reading, 4_096):
        if any(number != _WAKE for number in heard):
            for _ in range(_TIMES):
                signal.pthread_kill(main, _WAKE)
                time.sleep(_PAUSE_SECONDS)
    os.close(reading)
