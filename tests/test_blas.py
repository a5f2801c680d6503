"""How many threads BLAS has, which decides the last bits of products."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mdh_dask._blas import one_blas_thread
from mdh_dask.centroids import plan
from mdh_dask.chunks import work_through
from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.ensembles.hyperplanes import EnsembleSettings, _combined
from mdh_dask.ensembles.linkage import linkage_of
from mdh_dask.ensembles.votes import LabelTuples, TuplePass
from mdh_dask.kernels import KERNELS, choose_landmarks, nystrom_map
from mdh_dask.splits.stopping import STOP_RULES

ROWS = np.random.default_rng(0).normal(size=(1501, 5))


def threads_of_blas():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_has_its_threads_again_after_the_last_user():
    before = threads_of_blas()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(threads_of_blas()) <= {1}
    second.__exit__(None, None, None)
    assert threads_of_blas() == before


def test_a_thread_holds_blas_to_one_thread_after_another_did():
    def threads():
        with one_blas_thread():
            return set(threads_of_blas())

    assert threads() <= {1}
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threads).result() <= {1}


def leverage(kernel):
    """Probabilities with which rows become landmarks."""

    class Draws:
        def choice(self, n, size, replace, p):
            self.p = p
            return np.arange(size)

    choose_landmarks(ROWS, 150, "leverage", kernel, draws := Draws())
    return draws.p


def features(kernel):
    return nystrom_map(ROWS[:300], kernel, np.zeros(5), np.ones(5))(ROWS)


def mixture():
    counting = TuplePass(np.random.default_rng(1).normal(size=(16, 5)), np.zeros(16), 2**14)
    settings = EnsembleSettings(
        n_hyperplanes=16, alpha_max=1.0, bandwidth=BANDWIDTHS["normal"], sample_size=100, scale=True, max_clusters=3,
        n_clusters=None, criterion="bic", n_init=1, seed=0, stop=STOP_RULES["hold-out"](0.975),
    )  # fmt: skip
    return _combined(counting, counting.chunk(0, ROWS), settings)[0].log_probabilities


def linked():
    labels = np.random.default_rng(0).integers(0, 7, (5, 400))
    return linkage_of(LabelTuples(2**16).chunk(0, *labels), 4).rows


COMPUTED = {f"{make.__name__} {name}": partial(make, cls()) for make in (leverage, features)
            for name, cls in KERNELS.items() if name != "precomputed"}  # fmt: skip
COMPUTED |= {"mixture": mixture, "linkage": linked}


@pytest.mark.parametrize("compute", COMPUTED.values(), ids=COMPUTED)
def test_kernels_and_ensembles_have_the_same_bits_with_two_threads_of_blas(compute):
    if max(threads_of_blas(), default=1) < 2:
        pytest.skip("BLAS has one thread")
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(compute())
    assert found[0].tobytes() == found[1].tobytes()


def k_means_while(function, monkeypatch):
    monkeypatch.setattr("sklearn.cluster.KMeans.fit", lambda self, _: function(0) or self)
    plan._fitted(np.zeros((2, 1)), 1, 1, 0)


@pytest.mark.parametrize("last", ["work", "k-means"])
def test_blas_keeps_one_thread_where_work_of_another_thread_ends_before(last, monkeypatch):
    begun, both, ended, seen = Event(), Event(), Event(), []
    before = threads_of_blas()

    def first(_):
        begun.set()
        both.wait(10)
        return ()

    def second(_):
        both.set()
        ended.wait(10)
        seen.extend(threads_of_blas())
        return ()

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(work_through, first, [0])
        begun.wait(10)
        other = pool.submit(*((work_through, second, [0]) if last == "work" else (k_means_while, second, monkeypatch)))
        one.result()
        ended.set()
        other.result()
    assert set(seen) <= {1}
    assert threads_of_blas() == before
