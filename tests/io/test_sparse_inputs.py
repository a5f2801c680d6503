"""Sparse rows in files and Zarr groups: what is read and when, the labels of commands and jobs, and what is refused."""

import shutil

import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from helpers import run_on_threads as command

from mdh_dask import RandomProjectionTree, load_model
from mdh_dask._sparse import SparseRows
from mdh_dask.io import open_features, open_rows, sparse, write_rows
from mdh_dask.io.inputs import kind_of
from mdh_dask.jobs import run
from mdh_dask.jobs._run import check_job
from mdh_dask.jobs.job import read_job
from tests.helpers import serving

N, COLUMNS = 600, 12

NAMES = {"x.npz": "npz", "csc.npz": "npz", "a.zarr/X": "sparse Zarr"}


def write_group(group, rows, **attributes):
    """Write rows as AnnData does."""
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(rows.shape)})
    group.attrs.update(attributes)
    for name in ("data", "indices", "indptr"):
        values = getattr(rows, name)
        group.create_array(name, shape=values.shape, chunks=(100,), dtype=values.dtype)[:] = values


@pytest.fixture(scope="module")
def rows():
    """Counts of words of two topics, with an empty row."""
    rng = np.random.default_rng(0)
    topic = np.repeat([[6.0] * 6 + [0.2] * 6, [0.2] * 6 + [6.0] * 6], N // 2, axis=0)
    counts = rng.poisson(topic).astype(np.float64)
    counts[7] = 0
    return sp.csr_array(counts)


@pytest.fixture(scope="module")
def written(rows, tmp_path_factory):
    """The same rows in every format."""
    folder = tmp_path_factory.mktemp("sparse")
    sp.save_npz(folder / "x.npz", rows)
    sp.save_npz(folder / "csc.npz", rows.tocsc(), compressed=False)
    store = zarr.open_group(folder / "a.zarr", mode="w", attributes={"encoding-type": "anndata"})
    write_group(store.create_group("X"), rows)
    store.create_array("obs/n_genes", shape=(N,), dtype="int64")[:] = 1
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_rows_stay_sparse_in_blocks_of_any_size(written, rows, name):
    assert kind_of(written / name) == NAMES[name]
    for block_bytes in (None, 4000):
        found, names = open_features(written / name, block_bytes=block_bytes)
        assert names is None
        assert found.shape == rows.shape
        assert (found.numblocks[0] > 9) == (block_bytes == 4000)
        blocks = found.to_delayed().ravel()
        assert isinstance(blocks[0].compute(), SparseRows)
        np.testing.assert_array_equal(found.compute().dense(), rows.toarray())
    some = open_features(written / name, columns=["11", 2], block_bytes=4000).rows
    np.testing.assert_array_equal(some.compute().dense(), rows.toarray()[:, [11, 2]])


def test_opening_a_group_reads_no_values_and_a_block_only_its_own(written, rows, tmp_path):
    shutil.copytree(written / "a.zarr", tmp_path / "a.zarr")
    found = open_features(tmp_path / "a.zarr/X", block_bytes=4000, missing_chunks="fill").rows
    for chunk in (tmp_path / "a.zarr/X/data/c").iterdir():
        if int(chunk.name) > 3:  # the first block has some 320 values
            chunk.write_bytes(b"nonsense")
    first = found.blocks[0].compute()
    np.testing.assert_array_equal(first.dense(), rows[: len(first)].toarray())
    with pytest.raises(ValueError, match=r"X/data is damaged: its chunk c/\d+ cannot be decoded"):
        found.compute()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x.npz", "a.zarr/X"])
def test_files_are_read_over_http(written, rows, name):
    with serving(written) as (url, _):
        place = f"{url}/{name}"
        options = {"missing_chunks": "fill"} if name == "a.zarr/X" else {}  # HTTP lists no chunks
        found = open_features(place, **options).rows
        np.testing.assert_array_equal(found.compute().dense(), rows.toarray())


@pytest.fixture(scope="module")
def labels(rows):
    model = RandomProjectionTree(n_projections=50).fit(rows)
    assert model.n_clusters_ == 2
    return model.labels_


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x.npz", "a.zarr/X"])
def test_commands_give_the_labels_of_the_estimator(written, labels, tmp_path, monkeypatch, name):
    monkeypatch.setenv("DASK_MDH_DASK__BLOCK_SIZE", "8kB")
    model, report = tmp_path / "m.zarr", tmp_path / "r.html"
    command("fit", written / name, "--out", tmp_path / "l.zarr", "--model", model, "--report", report,
                    "--method", "rp", "--n-projections", 50, "--confidence", tmp_path / "c.zarr")  # fmt: skip
    np.testing.assert_array_equal(open_rows(tmp_path / "l.zarr", ndim=1), labels)
    assert "600 rows of 12 float64 features" in report.read_text()
    assert "Bytes read" not in report.read_text()  # as dense rows they would be many more
    command("predict", written / name, "--model", model, "--out", tmp_path / "p.zarr")
    np.testing.assert_array_equal(open_rows(tmp_path / "p.zarr", ndim=1), labels)
    command("drift", written / name, "--model", model)


def test_a_job_takes_sparse_rows_and_its_check_says_so(written, labels, tmp_path):
    (tmp_path / "job.toml").write_text(
        f'[input]\npath = "{written}/a.zarr/X"\n[method]\nname = "rp"\nn_projections = 50\n'
        '[cluster]\nkind = "threads"\n[output]\nlabels = "l.zarr"\nmodel = "m.zarr"\nreport = "r.html"\n'
    )
    told = check_job(read_job(tmp_path / "job.toml"))
    assert "600 sparse rows of 12 float64 columns, 0.1 MB if they were dense, in 1 block" in told
    assert "of the input" not in told
    run(tmp_path / "job.toml")
    np.testing.assert_array_equal(open_rows(tmp_path / "l.zarr", ndim=1), labels)
    assert load_model(tmp_path / "m.zarr").n_features_in_ == COLUMNS


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ("columns.categorical = [1]\n[method]", "expected dense rows for kinds of columns"),
        ("[method]\nmissing = 'mean'", "expected missing='error' for sparse rows"),
    ],
)
def test_what_sparse_rows_cannot_have_is_refused_by_a_job_and_by_its_check(beside, message, written, tmp_path):
    job = tmp_path / "job.toml"
    job.write_text(f"""
        [input]
        path = "{written / "x.npz"}"
        {beside}
        [cluster]
        kind = "threads"
        [output]
        labels = "l.zarr"
    """)
    with pytest.raises(ValueError, match=message):
        check_job(read_job(job))
    with pytest.raises(ValueError, match=message):
        run(job)


def test_a_file_is_held_no_longer_than_blocks_of_it_are_read(written, monkeypatch):
    monkeypatch.setattr(sparse, "HELD_FOR", 0.05)
    held = sparse._Held()
    monkeypatch.setattr(sparse, "_HELD", held)
    rows = open_features(written / "x.npz").rows
    assert held.rows
    held.timer.join()
    assert not held.rows
    assert len(rows[:3].compute()) == 3


def outside(group):
    group["indices"][3] = COLUMNS


def descending(group):
    group["indptr"][5] = 10**6


BAD_GROUPS = {
    "by columns": (
        lambda group: group.attrs.update({"encoding-type": "csc_matrix"}),
        "expected sparse rows, encoding-type 'csr_matrix'; got 'csc_matrix', .*tocsr",
    ),
    "no shape": (
        lambda group: group.attrs.pop("shape"),
        "expected the attribute shape of the group, .*; got None: set it",
    ),
    "other shape": (
        lambda group: group.attrs.update(shape=[N - 1, COLUMNS]),
        "expected 600 ascending integers from 0 in indptr",
    ),
    "places": (outside, r"a.zarr/X is damaged \(indices must be < 12\)"),
    "starts": (descending, "expected 601 ascending integers"),
}


@pytest.mark.parametrize("name", BAD_GROUPS)
def test_groups_that_are_not_what_they_claim_are_refused(written, tmp_path, name):
    spoil, message = BAD_GROUPS[name]
    shutil.copytree(written / "a.zarr", tmp_path / "a.zarr")
    spoil(zarr.open_group(tmp_path / "a.zarr/X", mode="r+"))
    with pytest.raises(ValueError, match=message):
        open_features(tmp_path / "a.zarr/X").rows.compute()


def test_sparse_rows_are_not_written_as_dense_ones(tmp_path):
    sp.save_npz(tmp_path / "x.npz", sp.eye_array(3))
    rows = open_features(tmp_path / "x.npz").rows
    with pytest.raises(TypeError, match=r"got sparse rows: store them by .*save_npz\(path, array.compute\(\).csr\)"):
        write_rows(rows, tmp_path / "x.zarr")
    sp.save_npz(tmp_path / "again.npz", rows.compute().csr)
    assert (open_features(tmp_path / "again.npz").rows.compute().csr != rows.compute().csr).nnz == 0


@pytest.mark.slow
def test_sparse_rows_of_scipy_that_unpack_to_more_than_memory_are_refused(tmp_path, monkeypatch):
    rows = sp.csr_array((np.zeros(10**7), np.zeros(10**7, "i4"), [0, 10**7]), shape=(1, 2))
    sp.save_npz(tmp_path / "x.npz", rows)
    monkeypatch.setattr("mdh_dask._process.memory_limit", lambda: 10**8)
    with pytest.raises(ValueError, match=r"x.npz: holding all of its rows takes 160,000,804 bytes, and there are 100"):
        open_features(tmp_path / "x.npz")


def test_files_of_anything_else_are_refused_with_a_remedy(tmp_path):
    np.savez(tmp_path / "dense.npz", x=np.eye(3))
    (tmp_path / "x.npz").write_bytes(b"PK")
    sp.save_npz(tmp_path / "line.npz", sp.coo_array(np.arange(3)))
    for name, message in {
        "dense.npz": r"is no.* of sparse rows of SciPy \(it holds the arrays x\); .*save_npz, or store .* by numpy",
        "x.npz": "is not a file of sparse rows of SciPy",
        "line.npz": r"expected rows of columns, at least one of each; got an array of shape \(3,\)",
    }.items():
        with pytest.raises(ValueError, match=message):
            open_features(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="there is no file at"):
        open_features(tmp_path / "gone.npz")
    sp.save_npz(tmp_path / "x.npz", sp.eye_array(3))
    with pytest.raises(ValueError, match="expected numbers of columns from 0 to 2"):
        open_features(tmp_path / "x.npz", columns=["3"])
