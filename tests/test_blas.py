"""How many threads BLAS has, which decides the last bits of products."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from mdh_dask._blas import one_blas_thread
from mdh_dask.centroids import plan
from mdh_dask.chunks import work_through


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
