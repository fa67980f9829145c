"""Processes: all that comes of tasks, whoever did them; and none of them is there when the block is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import util
from pathlib import Path
from typing import Any

import pytest

import bitlex.processes
from bitlex.inputs import InputError
from bitlex.processes import Processes, why
from interrupting import wait_for

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")


def square(shared: int, task: int, report: Callable[[Any], None]) -> int:
    report(("begun", task))
    if task == 3:
        raise InputError("three: no")
    if task == 4:
        raise OSError(2, "No such thing", "four")
    return shared + task * task


def killed(shared: Any, task: int, report: Callable[[Any], None]) -> None:
    if task == 1:
        os.kill(os.getpid(), shared or signal.SIGKILL)
    time.sleep(60)


def careful(shared: str, task: int, report: Callable[[Any], None]) -> None:
    """A file is there while this is at work."""
    path = Path(shared, str(task))
    try:
        path.touch()
        report(None)
        time.sleep(600)
    finally:
        path.unlink()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_that_comes_of_tasks(count: int) -> None:
    for tasks in ([], [2], [2, 5, 6, 3, 4, 9]):
        with Processes(count, square, 100) as processes:
            happened = list(processes.work(tasks))
            assert len(processes.running) == min(count, len(tasks))
        found = {place: (kind, value) for place, kind, value in happened if kind != "reported"}
        assert len(happened) == 2 * len(tasks) and found.keys() == set(range(len(tasks)))
        for place, task in enumerate(tasks):
            kind, value = found[place]
            begun = next(at for at, one in enumerate(happened) if one.task == place)
            assert happened[begun] == (place, "reported", ("begun", task))
            if task == 3:
                assert (kind, type(value), str(value)) == ("raised", InputError, "three: no")
            elif task == 4:
                assert (kind, type(value), value.filename) == ("raised", FileNotFoundError, "four")
            else:
                assert (kind, value) == ("returned", 100 + task * task)


def unsayable(shared: Any, task: int, report: Callable[[Any], None]) -> Callable[[], None]:
    return lambda: None


def test_what_cannot_be_sent_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    """It is a mistake of ours: the process ends by it, as any other would."""
    with (
        pytest.raises(OSError, match=r"^a process that did a part of the work was ended, with exit code 1$"),
        Processes(1, unsayable, None) as processes,
    ):
        list(processes.work([1]))
    assert "Traceback" in capfd.readouterr().err


def talkative(shared: Any, task: int, report: Callable[[Any], None]) -> None:
    bitlex.processes.PAUSE = 1e9  # here, in its own process
    for number in range(3):
        report(number)


def test_what_is_reported_soon_after_another_is_left_out() -> None:
    with Processes(1, talkative, None) as processes:
        assert list(processes.work([1, 2])) == [(task, *what) for task in (0, 1) for what in (("reported", 0), ("returned", None))]


def test_another_thread_may_start_them() -> None:
    """Though only the first one may set what signals do."""
    happened: list[Any] = []

    def work() -> None:
        with Processes(1, square, 100) as processes:
            happened.extend(processes.work([2]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert happened == [(0, "reported", ("begun", 2)), (0, "returned", 104)]


@POSIX
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_process_that_is_killed_is_told_of(name: str) -> None:
    """Also by a signal that it clears away behind."""
    with (
        pytest.raises(OSError, match=rf"^a process that did a part of the work was ended, by {name}$"),
        Processes(2, killed, signal.Signals[name]) as processes,
    ):
        list(processes.work([1, 2]))
    assert [process.is_alive() for process in processes.running.values()] == [False, False]


class Deadly:
    """Whoever unpickles it ends."""

    def __reduce__(self) -> tuple[Callable[[int], Any], tuple[int]]:
        return os._exit, (3,)


@pytest.mark.parametrize("shared", [Deadly(), (b"x" * 10_000_000, Deadly())])
def test_a_process_that_ends_before_it_works_is_told_of(shared: Any) -> None:
    with (
        pytest.raises(OSError, match=r"^a process that did a part of the work was ended, with exit code 3$"),
        Processes(3, square, shared) as processes,
    ):
        list(processes.work([1, 2, 5, 6]))


@POSIX
@pytest.mark.parametrize("after", [0.0, 0.05, 0.15, 0.3])
def test_a_process_that_is_killed_while_it_starts_is_told_of(after: float) -> None:
    def kill() -> None:
        while not processes.running:
            time.sleep(0.001)
        time.sleep(after)
        next(iter(processes.running.values())).kill()

    processes = Processes(2, killed, b"x" * 10_000_000)
    threading.Thread(target=kill).start()
    with pytest.raises(OSError, match=r"^a process that did a part of the work was ended, by SIGKILL$"), processes:
        list(processes.work([2, 3]))


@POSIX
@pytest.mark.parametrize("becomes", ["Ended", "RuntimeError"])
def test_a_process_that_is_told_to_end_as_it_begins(becomes: str) -> None:
    """It prints nothing, and ends by the signal, whatever the library makes of that."""
    program = f"""if True:
        import signal, threading
        from bitlex import processes
        from bitlex.processes import Ended
        def start(thread):
            try:
                signal.raise_signal(signal.SIGTERM)
            except Ended as error:
                raise {becomes} from error
        threading.Thread.start = start
        processes.serve(None)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, b"", b"")


@POSIX
def test_a_process_that_has_ended_its_work_hears_no_more() -> None:
    program = """if True:
        import signal
        from multiprocessing import Pipe
        from bitlex import processes
        processes.end_with_parent = int
        ours, theirs = Pipe()
        ours.close()
        processes.serve(theirs)
        signal.raise_signal(signal.SIGTERM)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def shut_out(shared: Any, task: int, report: Callable[[Any], None]) -> set[int]:
    return signal.pthread_sigmask(signal.SIG_BLOCK, [])


@POSIX
def test_no_process_hears_what_a_terminal_tells_all_of_them() -> None:
    """Not even the first, before which multiprocessing starts one of its own: it would print a traceback when Ctrl-C is pressed soon."""
    program = (
        f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_processes as here\n"
        "with here.Processes(2, here.shut_out, None) as processes:\n    print(*(there.value for there in processes.work([1, 2])))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.count("SIGINT"), done.stdout.count("SIGHUP")) == (2, 2), done.stderr


@POSIX
def test_a_signal_while_a_process_is_started(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """It is there, but was not told yet what to do."""
    launch = util.spawnv_passfds

    def pressed(*given: Any) -> int:
        number = launch(*given)
        signal.raise_signal(signal.SIGTERM)
        return number

    monkeypatch.setattr(util, "spawnv_passfds", pressed)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), Processes(1, square, 1) as processes:
            list(processes.work([1]))
        assert [process.exitcode is not None for process in processes.running.values()] == [True]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capfd.readouterr() == ("", "")


def test_why_a_process_ended() -> None:
    assert (why(-15), why(1), why(0), why(None)) == ("by SIGTERM", "with exit code 1", "with exit code 0", "with exit code None")
    assert why(-300) == "by signal 300"


@POSIX
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, None])
def test_none_is_there_when_the_block_is_left(tmp_path: Path, error: type[BaseException] | None) -> None:
    """Each has removed what it had not finished."""

    def leave() -> None:
        with Processes(2, careful, str(tmp_path)) as processes:
            happening = processes.work([1, 2, 3])
            assert [next(happening).kind, next(happening).kind] == ["reported"] * 2
            assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]
            left.extend(processes.running.values())
            if error is not None:
                raise error

    left: list[Any] = []
    begun = time.monotonic()
    if error is None:
        leave()
    else:
        with pytest.raises(error):
            leave()
    assert time.monotonic() - begun < 60 and not any(process.is_alive() for process in left)
    assert list(tmp_path.iterdir()) == []


def deaf(shared: bool, task: int, report: Callable[[Any], None]) -> None:
    """What this process is told is lost, as an exception is that a destructor raises."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    report(None)
    if shared:
        time.sleep(2)
        os._exit(1)


@POSIX
def test_one_that_waits_for_more_ends() -> None:
    with Processes(1, deaf, False) as processes:
        assert [one.kind for one in processes.work([1])] == ["reported", "returned"]
    assert [process.exitcode for process in processes.running.values()] == [0]


@POSIX
def test_one_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitlex.processes.PATIENCE", 0.01)
    with Processes(1, deaf, True) as processes:
        assert next(processes.work([1])).kind == "reported"
    assert [process.exitcode for process in processes.running.values()] == [-signal.SIGKILL]


@POSIX
def test_they_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_processes as here\n"
        f"with here.Processes(2, here.careful, {str(tmp_path)!r}) as processes:\n    list(processes.work([1, 2]))"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
        process.kill()
    wait_for(lambda: not list(tmp_path.iterdir()))


@POSIX
def test_they_end_with_the_interpreter_where_the_block_was_not_left(tmp_path: Path) -> None:
    """As when Ctrl-C comes while it is being left."""
    program = (
        f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_processes as here\n"
        f"print(next(here.Processes(1, here.careful, {str(tmp_path)!r}).work([1])).kind)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr, list(tmp_path.iterdir())) == (0, b"reported\n", b"", [])
