"""A child of a process with threads finds no lock that is held by a thread it does not have."""

import os
from threading import Barrier, Event, Lock, Thread, Timer

import pytest
from service_common import forking
from service_common.bounded import BoundedCall
from service_common.forking import no_fork_during


class Library:
    """One whose calls hold a lock of its own, until they are let go on."""

    def __init__(self) -> None:
        self.lock, self.called, self.goes_on = Lock(), Event(), Event()

    def call(self) -> None:
        with self.lock:
            self.called.set()
            self.goes_on.wait(10)

    def is_free_in_a_child(self) -> bool:
        """Fork while a call is under way; whether the child can call, too."""
        assert self.called.wait(10)
        child = os.fork()
        if child == 0:
            os._exit(0 if self.lock.acquire(timeout=0.5) else 1)
        return os.waitpid(child, 0)[1] == 0


@pytest.fixture
def library() -> Library:
    return Library()


def goes_on_soon(library: Library) -> None:
    Timer(0.2, library.goes_on.set).start()


def test_fork__while_a_bounded_call_holds_a_lock__waits_for_its_end(library: Library) -> None:
    BoundedCall(library.call).begin()
    goes_on_soon(library)
    assert library.is_free_in_a_child()


def test_fork__while_a_thread_calls_on_its_own__finds_its_lock_held(library: Library) -> None:
    Thread(target=library.call, daemon=True).start()
    goes_on_soon(library)
    assert not library.is_free_in_a_child()


def test_fork__while_a_call_hangs__goes_on_after_a_while(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "MOST_SECONDS", 0.1)
    BoundedCall(library.call).begin()
    assert not library.is_free_in_a_child()
    library.goes_on.set()


def test_call__in_a_child__is_waited_for_there(library: Library) -> None:
    child = os.fork()
    if child == 0:
        BoundedCall(library.call).begin()
        goes_on_soon(library)
        os._exit(0 if library.is_free_in_a_child() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_call__that_fails__is_over(library: Library) -> None:
    with pytest.raises(ZeroDivisionError), no_fork_during():
        raise ZeroDivisionError
    library.called.set()
    assert library.is_free_in_a_child()


def test_call__that_forks_itself__waits_for_nobody(library: Library) -> None:
    def forks() -> bool:
        child = os.fork()
        if child == 0:
            os._exit(0 if library.lock.acquire(timeout=0.5) else 1)
        return os.waitpid(child, 0)[1] == 0

    assert BoundedCall(forks).begin().result(2.0)


def test_forks__of_two_checks_at_once__do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a probe and a request ask the reviewer at the same moment whether its rules work."""
    monkeypatch.setattr(forking, "MOST_SECONDS", 60.0)
    both, ended = Barrier(2), list[int]()

    def check() -> None:
        with no_fork_during():
            both.wait(10)
            child = os.fork()
            if child == 0:
                os._exit(0)
            ended.append(os.waitpid(child, 0)[1])

    threads = [Thread(target=check, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert ended == [0, 0]


def test_fork__while_a_check_waits_to_fork__waits_for_that_check(library: Library) -> None:
    """As when a server makes a worker: the check holds a lock for its own fork, which the worker would never get."""
    another = Library()

    def check() -> None:
        with library.lock:
            library.called.set()
            child = os.fork()  # waits for the other one
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)

    BoundedCall(another.call).begin()
    assert another.called.wait(10)
    BoundedCall(check).begin()
    goes_on_soon(another)
    assert library.is_free_in_a_child()
