"""The pool: failures as values, defects raised, deadlines kept. Events, no sleeps."""

import contextvars
import threading
from contextlib import contextmanager

import pytest

from hybrid_search.concurrency import Pool, outcome
from hybrid_search.domain import Deadline
from hybrid_search.errors import DeadlineExceeded, Throttled

PATIENCE = 10
"""Seconds after which a test that would hang fails."""
PAST = Deadline(0.0)
name = contextvars.ContextVar("name", default="nobody")


def raising(error):
    def call():
        raise error

    return call


@contextmanager
def hanging():
    """A call that does not end before the block does."""
    release = threading.Event()
    try:
        yield lambda: release.wait(PATIENCE)
    finally:
        release.set()


def test_values_come_in_the_order_of_the_calls():
    with Pool(3) as pool:
        assert pool.all([lambda n=n: n * n for n in range(50)]) == [n * n for n in range(50)]
        assert pool.all([]) == []


def test_calls_run_at_the_same_time():
    meeting = threading.Barrier(3, timeout=PATIENCE)
    with Pool(3) as pool:
        assert sorted(pool.all([meeting.wait] * 3)) == [0, 1, 2]


def test_no_more_threads_than_workers():
    threads = set()
    with Pool(2, "named") as pool:
        pool.all([lambda: threads.add(threading.current_thread().name)] * 50)
    assert len(threads) <= 2
    assert all(thread.startswith("named") for thread in threads)


def test_a_failure_is_a_value_in_its_place():
    failure = Throttled("slow down")
    with Pool(2) as pool:
        assert pool.all([lambda: 1, raising(failure), lambda: 3]) == [1, failure, 3]


def test_a_defect_is_raised_once_all_calls_have_ended():
    ended = []
    calls = [raising(ZeroDivisionError("defect")), *[lambda: ended.append(1)] * 300]
    with Pool(1) as pool, pytest.raises(ZeroDivisionError, match="defect"):
        pool.all(calls)
    assert len(ended) == 300


def test_a_call_that_does_not_end_is_a_deadline_exceeded_and_others_count():
    with hanging() as hang, Pool(2) as pool:
        [first] = pool.all([lambda: 1])
        late = pool.all([hang], Deadline.after(0.01))
        assert first == 1
        assert [(type(one), one.http_status) for one in late] == [(DeadlineExceeded, 504)]


def test_what_is_there_already_counts_even_past_the_deadline():
    with Pool(1) as pool:
        future = pool.start(lambda: 5)
        assert outcome(future) == 5
        assert outcome(future, PAST) == 5


def test_context_variables_are_those_of_the_caller_and_stay_so():
    def rename():
        before = name.get()
        name.set("changed")
        return before

    token = name.set("caller")
    try:
        with Pool(1) as pool:
            assert pool.all([rename, rename]) == ["caller", "caller"]
        assert name.get() == "caller"
    finally:
        name.reset(token)


def test_a_closed_pool_takes_no_more_work():
    pool = Pool(1)
    pool.close()
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.start(lambda: 1)


def test_closing_does_not_wait_for_what_hangs():
    with hanging() as hang:
        pool = Pool(1)
        future = pool.start(hang)
        pool.close()
        assert not future.done()
