"""Real interrupts, at hundreds of instants, while coins are tossed and tables are read: no frame of the error has a level."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import textwrap
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from duotone import ApproxDP, interrupts
from duotone.interrupts import Held, held, uninterrupted
from duotone.line.three_way import ThreeWay
from duotone.tables.check_question import prepare
from duotone.tables.engines.engine import quietly
from support.running import EXHAUSTIVE

COMMON = """
import gc, os, random, signal, sys, tempfile, threading, time
import numpy as np, pyarrow as pa
from duotone import ApproxDP, Coin, balanced, open_ledger, prepare
from duotone.line.three_way import ThreeWay, three_way_table

LEVEL = 987_654

class Ended(BaseException):  # what a handler of the program's own raises
    pass

def ended(number, frame):
    raise Ended

SIGNAL = signal.Signals[sys.argv[1]]
if SIGNAL != signal.SIGINT:
    signal.signal(SIGNAL, ended)

def secret(value, depth=0):
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iu" and value.size > 1
    if isinstance(value, pa.Table):
        return True
    if isinstance(value, (list, tuple)) and depth < 3:
        return any(secret(each, depth + 1) for each in value)
    return type(value) is int and value == LEVEL

def chain(error):
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_lineno != trace.tb_frame.f_code.co_firstlineno:  # else its caller was interrupted
                yield trace.tb_frame
            trace = trace.tb_next
        error = error.__context__ or error.__cause__

def main(action, trials, longest):
    trials //= int(sys.argv[2])
    chance, leaks, interrupted = random.Random(5), {}, 0
    action()
    for _ in range(trials):
        timer = threading.Timer(chance.uniform(0, longest), os.kill, (os.getpid(), SIGNAL))
        try:
            timer.start()
            while True:
                action()
        except (KeyboardInterrupt, Ended) as error:
            assert isinstance(error, KeyboardInterrupt) == (SIGNAL == signal.SIGINT)
            interrupted += 1
            for frame in chain(error):
                if frame.f_code.co_filename == "<string>":
                    continue  # those of this program, which knows its levels
                for name, value in frame.f_locals.items():
                    if secret(value):
                        where = f"{frame.f_code.co_qualname}.{name}" if hasattr(frame.f_code, "co_qualname") else name
                        leaks[where] = leaks.get(where, 0) + 1
        timer.join()
    print(interrupted, leaks)
    assert interrupted == trials
    assert not leaks, leaks
"""

SCENES = {
    "answers": """
        coin, levels = Coin(balanced(ApproxDP("0.01"))), np.random.default_rng(1).integers(-300, 300, 300_000)
        main(lambda: coin.answers(levels), 300, 0.02)
    """,
    "answer": """
        coin = Coin(balanced(ApproxDP("0.01")))
        main(lambda: [coin.answer(LEVEL) for _ in range(500)], 300, 0.01)
    """,
    "outcomes": """
        coin = Coin(three_way_table(ThreeWay(ApproxDP("0.05"), "1e-9")))
        levels = np.random.default_rng(1).integers(-300, 300, 100_000)
        main(lambda: coin.outcomes(levels), 300, 0.04)
    """,
    "release": """
        rows = pa.table({"g": [i % 3000 for i in range(30_000)], "x": [i % 7 for i in range(30_000)]})
        asked = prepare(rows, "select g, avg(x) > 3 from t group by g", ApproxDP(1, "1e-6"), bounds={"x": (0, 9)})
        main(asked.release, 200, 0.06)
    """,
    "close calls": """
        rows = pa.table({"g": [i % 500 for i in range(5000)], "x": [i % 7 for i in range(5000)]})
        groups, read = [(i,) for i in range(500)], []
        from duotone.tables.check_question import prepare
        text = "select g, avg(x) > 3 from t group by g"
        asked = prepare(rows, text, ThreeWay(ApproxDP("0.01")), bounds={"x": (0, 9)}, groups=groups)

        def charged():  # as `charge` has it, without a ledger, which would have no close calls left
            try:
                read.append(asked._read("", lambda: None))
                asked._called(read, 10)
            finally:
                read.clear()

        main(charged, 200, 0.04)
    """,
    "charge": """
        rows = pa.table({"g": [i % 3000 for i in range(30_000)], "x": [i % 7 for i in range(30_000)]})
        asked = prepare(rows, "select g, avg(x) > 3 from t group by g", ApproxDP("0.01", "1e-6"), bounds={"x": (0, 9)})
        with open_ledger(os.path.join(tempfile.mkdtemp(), "budget.ledger")) as ledger:
            ledger.register("t", ApproxDP(60, "0.1"), unit="row", neighbours="add-remove", version="1")
            main(lambda: asked.charge(ledger, "t", again=True), 150, 0.15)
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("scene", SCENES)
def test_no_interrupt_leaves_a_level_in_a_frame(scene: str, number: str) -> None:
    """At hundreds of instants by Ctrl-C, and at a third of them by a handler of the program's own, which waits alike."""
    program = COMMON + textwrap.dedent(SCENES[scene])
    share = "1" if EXHAUSTIVE or number == "SIGINT" else "3"
    done = subprocess.run([sys.executable, "-c", program, number, share], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_waits_and_is_then_raised() -> None:
    done: list[str] = []
    before = signal.getsignal(signal.SIGINT)

    def work() -> None:
        with held():
            interrupt()
            done.append("this")
            with held():
                interrupt()
            done.append("that")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["this", "that"]
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_while_they_begin_to_be_held_leaves_others_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it came between two lines, none was held ever after."""

    class Interrupted(list[Held]):
        def append(self, state: Held) -> None:
            super().append(state)
            interrupt()

    def work() -> None:
        with held():
            pytest.fail("it was interrupted before")

    monkeypatch.setattr(interrupts, "_HELD", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        work()
    assert interrupts._HELD == []


def test_giving_up_a_close_call_leaves_no_level_in_a_frame() -> None:
    """As a service does while it waits for the time at which an answer may leave."""
    rows = pa.table({"x": [1, 2, 3]})

    def gone() -> None:
        raise RuntimeError

    with prepare(rows, "count(*) > 2", ThreeWay(ApproxDP("0.5"))) as asked, pytest.raises(RuntimeError) as raised:
        asked._read("", gone)
    frames = [entry.frame.f_locals for entry in raised.traceback if "duotone" in str(entry.path)]
    assert not [value for own in frames for value in own.values() if isinstance(value, np.ndarray | tuple)]
    assert any("hold" in own for own in frames)


def test_work_that_may_be_interrupted_is_once() -> None:
    states: list[Held] = []

    def work() -> None:
        with held() as state:
            states.append(state)
            with pytest.raises(KeyboardInterrupt), state.heard():
                interrupt()
            assert (state.noted, state.waiting) == (True, [])
            interrupt()
            assert state.waiting

    with pytest.raises(KeyboardInterrupt):
        work()
    assert states[0].waiting


def test_arguments_are_gone_when_it_is_raised() -> None:
    @uninterrupted
    def secretly(levels: Any) -> int:
        interrupt()
        return len(levels)

    with pytest.raises(KeyboardInterrupt) as raised:
        secretly([4711] * 3)
    frames = [entry.frame.f_locals for entry in raised.traceback[1:]]
    assert frames
    assert "4711" not in repr([dict(own) for own in frames])


def test_other_threads_are_not_held() -> None:
    results: list[int] = []

    @uninterrupted
    def work(x: int) -> int:
        return x + 1

    thread = threading.Thread(target=lambda: results.append(work(1)))
    thread.start()
    thread.join()
    assert (results, work(2)) == ([2], 3)


def test_an_error_while_an_interrupt_waits_is_not_its_context() -> None:
    """The frames of that error have levels."""

    @uninterrupted
    def failing(levels: list[int]) -> None:
        signal.raise_signal(signal.SIGINT)
        raise ValueError(len(levels))

    with pytest.raises(KeyboardInterrupt) as error:
        failing([4711])
    assert error.value.__context__ is None


def test_an_interrupt_that_a_destructor_swallows_is_raised_in_the_end() -> None:
    """As Ibis' plans have them: the error was shown as ignored, and a question went on."""

    def destroyed() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            interrupt()

    def levels() -> list[int]:
        destroyed()
        return [quietly(lambda: 4711, "")]

    @uninterrupted
    def heard() -> None:
        with held() as state, state.heard():
            destroyed()

    for work in (lambda: quietly(levels, ""), heard):
        with pytest.raises(KeyboardInterrupt):
            work()


def test_every_signal_waits_and_does_what_its_handler_does() -> None:
    """A handler may raise anything, or nothing; what one raises is raised once, by itself, and handlers stay as they were."""
    seen: list[tuple[int, Any]] = []

    class Stop(Exception):
        pass

    def stop(number: int, frame: Any) -> None:
        seen.append((number, frame))
        raise Stop

    numbers = signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2
    handlers: list[Any] = [stop, lambda number, frame: seen.append((number, frame)), signal.SIG_IGN]
    before = [signal.signal(number, handler) for number, handler in zip(numbers, handlers, strict=True)]

    @uninterrupted
    def secretly(levels: list[int]) -> None:
        for number in (*numbers, *numbers):
            signal.raise_signal(number)
        assert not seen
        raise ValueError(len(levels))

    def engine() -> None:
        signal.raise_signal(signal.SIGTERM)

    try:
        for work in (lambda: secretly([4711]), lambda: quietly(engine, "failed")):
            with pytest.raises(Stop) as raised:
                work()
            assert raised.value.__context__ is None
            assert "4711" not in repr([dict(entry.frame.f_locals) for entry in raised.traceback[2:]])
            assert [signal.getsignal(number) for number in numbers] == handlers
        assert seen == [(signal.SIGTERM, None), (signal.SIGUSR1, None), (signal.SIGTERM, None)]
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
