"""One search, as it runs: every stop is entered from level 3, and no stop enters another."""

import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from hybrid_search import connect

STOPS = ("legs", "embedders", "backends", "fusion")
LEVEL_3 = {"hybrid_search.asking", "hybrid_search.retriever"}
TRANSPARENT = {"hybrid_search.registry"}
"""How a component is found: who asked it is who entered."""


@dataclass(frozen=True)
class Entry:
    """One call from one module of the package into another."""

    caller: str
    module: str
    function: str

    @property
    def stop(self):
        """The family that was entered, or empty."""
        return family(self.module)


def family(module):
    """The family of a module, or empty where it belongs to none."""
    part = module.split(".")[1] if module.count(".") else ""
    return part if part in STOPS else ""


@contextmanager
def recorded():
    """Record every call between modules of the package, in all threads, in order."""
    entries = []

    def profile(frame, event, _argument):
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith("hybrid_search."):
            return
        back = frame.f_back
        while back is not None:
            caller = back.f_globals.get("__name__", "")
            if caller.startswith("hybrid_search.") and caller not in TRANSPARENT:
                break
            back = back.f_back
        caller = back.f_globals["__name__"] if back is not None else ""
        if caller != module:
            entries.append(Entry(caller, module, frame.f_code.co_qualname.split(".")[-1]))

    before, before_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield entries
    finally:
        sys.setprofile(before)
        threading.setprofile(before_threads)


def searched(times):
    """Search ``times`` times for the same words; return the entries of the last search."""
    with connect(memory=True, embedder="hashing", cache=False) as search:
        search.add(
            {"id": str(n), "text": f"Parcel X-{n} was lost at sea.", "title": "Losses"}
            for n in range(12)
        )
        for _ in range(times - 1):
            search.search("lost parcel X-7")
        with recorded() as entries:
            result = search.search("lost parcel X-7")
    assert result.hits[0].document_id == "7"
    assert not result.degraded
    return entries


@pytest.fixture(scope="module", params=[1, 2], ids=["new query", "remembered query"])
def entries(request):
    return searched(request.param)


def entered(entries):
    """The entries into a stop from outside of its family, in order."""
    return [e for e in entries if e.stop and family(e.caller) != e.stop]


def names(entries):
    """The stops in order, as ``family.function``."""
    return [f"{e.stop}.{e.function}" for e in entered(entries)]


def test_every_stop_is_entered_from_level_3(entries):
    from_elsewhere = [e for e in entered(entries) if e.caller not in LEVEL_3]
    assert not from_elsewhere
    assert {e.stop for e in entered(entries)} == set(STOPS)


def test_no_stop_enters_another(entries):
    assert not [e for e in entries if family(e.caller) and e.stop not in ("", family(e.caller))]


def test_no_stop_calls_back_into_the_use_cases(entries):
    assert not [e for e in entries if family(e.caller) and e.module in LEVEL_3]


def test_the_store_is_asked_for_what_the_picture_shows(entries):
    of_store = [e.function for e in entered(entries) if e.stop == "backends"]
    assert set(of_store) == {"snapshot", "rank", "fetch"}
    assert of_store.count("snapshot") == of_store.count("fetch") == 1


def test_the_order_is_snapshot_ask_rank_fuse_fetch(entries):
    order = names(entries)
    fused = order.index("fusion.__call__")
    asks = [n for n, name in enumerate(order) if name == "legs.ask"]
    ranks = [n for n, name in enumerate(order) if name == "backends.rank"]
    assert order.index("backends.snapshot") < min(asks) < min(ranks)
    assert max(asks) < max(ranks) < fused
    assert order[fused:] == ["fusion.__call__", "backends.fetch"]
    assert len(asks) == len(("bm25", "vector", "identifier"))


def test_a_new_query_is_embedded_before_it_is_ranked_by_its_vector():
    order = names(searched(1))
    assert order.count("embedders.embed_query") == 1
    assert order.count("backends.rank") == len(("text legs", "vector leg"))
    assert order.index("embedders.embed_query") > order.index("backends.snapshot")
    embedded_at = order.index("embedders.embed_query")
    assert "legs.ask" in order[embedded_at:]
    assert "backends.rank" in order[embedded_at:]


def test_a_remembered_query_needs_one_request_to_rank():
    order = names(searched(2))
    assert "embedders.embed_query" not in order
    assert order.count("backends.rank") == 1


def test_the_recorder_sees_calls_in_other_threads():
    called = threading.Event()
    with connect(memory=True, embedder="hashing", cache=False) as search, recorded() as entries:
        thread = threading.Thread(target=lambda: (search.search("words"), called.set()))
        thread.start()
        thread.join()
    assert called.is_set()
    assert "backends.snapshot" in names(entries)
