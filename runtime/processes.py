"""Processes: a function and what to call it with in; what it returned or raised out, from several processes at a time, as it comes.

    with Processes(4, encode_file, shared) as processes:
        for task, kind, value in processes.work(paths):     # encode_file(shared, path, report) of each
            ...                                             # kind: "reported", "returned" or "raised"

For work that one interpreter does no faster on many cores, such as reading JSON. Each process is started anew, so that no lock of a thread
is copied into it. Invariant: none outlives the block: each is told to end, and has removed what it had not finished, before the block is
left, also by Ctrl-C; if this process is killed, the others end by themselves. Rejected: concurrent.futures (its processes cannot
be ended, and say nothing before they return); the fork of this process (of the threads of numpy and of ours, only one would be there).
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from types import TracebackType

__all__ = ["Happened", "Processes", "Report"]

PAUSE = 0.05  # seconds between two reports of a task; what it says in between is left out
IDLE = 1.0  # seconds without a report, after which `idle` is called
PATIENCE = 60  # seconds that a process may take to end, before it is killed

Report = Callable[[Any], None]


class Happened(NamedTuple):
    """What became of a task, by its place among all."""

    task: int
    kind: str  # "reported", "returned", "raised"
    value: Any


class Processes:
    """`count` processes that call `function(shared, task, report)`, all of which are pickled; a context that ends them."""

    def __init__(self, count: int, function: Callable[[Any, Any, Report], Any], shared: Any) -> None:
        self.count, self.function, self.shared = count, function, shared
        self.running: dict[Any, BaseProcess] = {}  # by our ends of pipes

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for pipe, process in self.running.items():
            process.terminate()
            pipe.close()  # for one that has heard of it, and waits for more
        for process in self.running.values():
            process.join(PATIENCE)
            process.kill()
            process.join()

    def work(self, tasks: Sequence[Any], idle: Callable[[], None] | None = None) -> Iterator[Happened]:
        """OSError if a process comes to an end that nobody asked for, as for want of memory. `idle` is called when nothing has happened for a
        while."""
        from multiprocessing.connection import wait

        job = pickle.dumps((self.function, self.shared))
        left = enumerate(tasks)
        busy: dict[Any, int] = {}
        pipes = [self.start() for _ in range(min(self.count, len(tasks)))]
        for pipe in pipes:  # all of them start meanwhile
            with self.told_of(pipe):
                pipe.send_bytes(job)
            self.give(pipe, left, busy)
        while busy:
            ready: list[Any] = wait(list(busy), None if idle is None else IDLE)
            if not ready and idle is not None:
                idle()
            for pipe in ready:
                with self.told_of(pipe):
                    happened = Happened(*pipe.recv())
                if happened.kind != "reported":
                    del busy[pipe]
                    self.give(pipe, left, busy)
                yield happened

    def give(self, pipe: Any, left: Iterator[tuple[int, Any]], busy: dict[Any, int]) -> None:
        """The next task, if there is one."""
        for number, task in left:
            busy[pipe] = number
            with self.told_of(pipe):
                pipe.send((number, task))
            return

    @contextmanager
    def told_of(self, pipe: Any) -> Iterator[None]:
        try:
            yield
        except (EOFError, ConnectionError):
            process = self.running[pipe]
            process.join()
            raise OSError(f"a process that did a part of the work was ended, {why(process.exitcode)}") from None

    def start(self) -> Any:
        """One more process, and our end of a pipe to it. Of Ctrl-C and of the end of a terminal, of which all its processes are told, this one
        tells the others: of two signals at a time, another thread may take both, and what reads would wait on.

        What is sent by the pipe when the process runs, and not on its way to that, does not wait for one that is dead.
        """
        from multiprocessing import get_context, resource_tracker

        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs,), daemon=True)
        masks = hasattr(signal, "pthread_sigmask")
        if masks:
            resource_tracker.ensure_running()  # which the first process that is started would do, and which lets in what is shut out here
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGHUP]) if masks else ()
        try:
            with held_back():
                process.start()
                self.running[ours] = process
        finally:
            if masks:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        return ours


@contextmanager
def held_back() -> Iterator[None]:
    """Handlers of signals run when the block is left: what they raise would leave a process that was told half of what it needs, and says so."""
    came: list[int] = []
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            if callable(signal.getsignal(number)):
                handlers[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)


def why(code: int | None) -> str:
    if code is None or code >= 0:
        return f"with exit code {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"


class Ended(BaseException):
    """This process was told to end, by who started it or by another. Passes through what removes unfinished files."""

    told = False
    done = False  # whatever else is told is heard no more


def end(number: int, frame: object) -> None:
    if not Ended.told and not Ended.done:  # once: it may be told again while it clears away
        Ended.told = True
        raise Ended


def end_with_parent() -> None:
    """Wait for the end of the process that this one was started by, and bring it about here."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)  # not raise_signal: the other thread is to hear of it


def serve(pipe: Connection[Any, Any]) -> None:
    """What each process does: one task after the other, until there are none or nobody is there. One that was told to end does so by the signal:
    who started it and did not tell it so learns why there is no result."""
    with suppress(Ended, KeyboardInterrupt, EOFError, ConnectionError):
        try:
            signal.signal(signal.SIGTERM, end)
            threading.Thread(target=end_with_parent, daemon=True).start()
            each_task(pipe)
        except Exception:
            if not Ended.told:  # an import, or a lock, may have made this exception of that one
                raise
        finally:
            Ended.done = True
    if Ended.told:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


def each_task(pipe: Connection[Any, Any]) -> None:
    function, shared = pickle.loads(pipe.recv_bytes())
    while not Ended.told:
        number, task = pipe.recv()
        following = 0.0

        def report(value: Any, number: int = number) -> None:
            nonlocal following
            if time.monotonic() >= following:
                following = time.monotonic() + PAUSE
                pipe.send((number, "reported", value))

        try:
            result = (number, "returned", function(shared, task, report))
        except ConnectionError:
            raise
        except Exception as error:
            result = (number, "raised", error)
        if not Ended.told:
            pipe.send(result)
