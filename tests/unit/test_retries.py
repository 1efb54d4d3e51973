"""The retry policy: named errors, attempts and deadline, and nothing else."""

from __future__ import annotations

import threading
import time

import pytest

from hybrid_search import retries
from hybrid_search.domain import Deadline
from hybrid_search.errors import AccessDenied, InvalidInput, ModelUnavailable, Throttled


class Script:
    """Raises or returns one thing after the other, and counts."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.calls = 0

    def __call__(self):
        step = self.steps[min(self.calls, len(self.steps) - 1)]
        self.calls += 1
        if isinstance(step, BaseException):
            raise step
        return step


POLICY = retries.Policy(on=(Throttled, ModelUnavailable), attempts=5, wait_max=20)


def test_the_result_comes_through_after_named_errors():
    script, tally = (
        Script(Throttled("a"), ModelUnavailable("b"), Throttled("c"), 42),
        retries.Tally(),
    )
    with retries.testing():
        assert retries.call(script, POLICY, on_retry=tally) == 42
    assert script.calls == 4
    assert tally.counts == {"throttled": 2, "model_unavailable": 1}


@pytest.mark.parametrize("error", [AccessDenied("no"), InvalidInput("no"), RuntimeError("no")])
def test_other_errors_are_not_tried_again(error):
    script = Script(error)
    with retries.testing(), pytest.raises(type(error)) as caught:
        retries.call(script, POLICY)
    assert caught.value is error
    assert script.calls == 1


def test_attempts_are_bounded_and_the_last_real_error_is_raised():
    last = ModelUnavailable("last")
    script = Script(*[Throttled(str(n)) for n in range(4)], last)
    with retries.testing(), pytest.raises(ModelUnavailable) as caught:
        retries.call(script, POLICY)
    assert caught.value is last
    assert script.calls == POLICY.attempts


def test_an_error_class_may_have_fewer_attempts():
    class Rare(ModelUnavailable):
        pass

    policy = retries.Policy((ModelUnavailable,), attempts=5, wait_max=1, limits={Rare: 2})
    rare, common = Script(Rare("x")), Script(ModelUnavailable("x"))
    with retries.testing():
        for script in (rare, common):
            with pytest.raises(ModelUnavailable):
                retries.call(script, policy)
    assert (rare.calls, common.calls) == (2, 5)


def test_a_wait_that_would_end_after_the_deadline_is_not_begun():
    class AskedToWait(Throttled):
        retry_after = 30.0

    script = Script(AskedToWait("later"))
    started = time.monotonic()
    with pytest.raises(AskedToWait):
        retries.call(script, POLICY, deadline=Deadline.after(5))
    assert time.monotonic() - started < 1
    assert script.calls == 1


def test_the_wait_is_at_least_what_the_error_asks_for():
    class AskedToWait(Throttled):
        retry_after = 0.05

    started = time.monotonic()
    assert retries.call(Script(AskedToWait("later"), 1), POLICY) == 1
    assert time.monotonic() - started >= 0.05


def test_a_passed_deadline_still_allows_the_first_attempt():
    assert retries.call(Script(7), POLICY, deadline=Deadline.after(-1)) == 7


def test_stop_ends_a_wait_at_once():
    class AskedToWait(Throttled):
        retry_after = 30.0

    stop, waiting = threading.Event(), threading.Event()
    script = Script(AskedToWait("later"))
    caught: list[BaseException] = []

    def run():
        try:
            retries.call(script, POLICY, on_retry=lambda _: waiting.set(), stop=stop)
        except AskedToWait as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert waiting.wait(5)
    stop.set()
    thread.join(5)
    assert not thread.is_alive()
    assert script.calls == 2
    assert len(caught) == 1


def test_testing_caps_attempts_and_ends():
    script = Script(Throttled("x"))
    with retries.testing(attempts=2), pytest.raises(Throttled):
        retries.call(script, POLICY)
    assert script.calls == 2
    with retries.testing(), retries.testing(attempts=1), pytest.raises(Throttled):
        retries.call(script, POLICY)
    assert script.calls == 3


def test_presets_are_short_for_queries_and_patient_for_ingestion():
    assert retries.QUERY.attempts < retries.INGEST.attempts
    assert retries.QUERY.wait_max < retries.INGEST.wait_max
    assert AccessDenied not in retries.QUERY.on


def test_a_tally_counts_from_many_threads():
    tally = retries.Tally()
    threads = [threading.Thread(target=lambda: [tally("x") for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tally.counts == {"x": 2000}
