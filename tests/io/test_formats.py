"""Formats of files: what another format holds is refused with the remedy, and no format changes unnoticed."""

import json
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest

from mdh_dask import __version__, load_model
from mdh_dask._journal import use_journal
from mdh_dask.io import codec
from mdh_dask.io.codec import FolderJournal
from mdh_dask.jobs.state import FINISHED, Work
from tests.fixtures.make import job_estimator, job_rows, models, rows_for

ARCHIVE = Path(__file__).parents[1] / "fixtures" / "formats.tar.xz"
"""What `tests.fixtures.make` wrote when a format last changed by intent."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of what the archive holds."""
    folder = tmp_path_factory.mktemp("formats")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def expected(folder):
    return json.loads((folder / "expected.json").read_text())


def test_the_archive_is_small_and_holds_every_kind_of_state_and_every_kernel():
    with tarfile.open(ARCHIVE) as packed:
        names = {Path(name).parts[1] for name in packed.getnames() if name.startswith("models/")}
    assert names == {*models(), "expected.json"}
    assert ARCHIVE.stat().st_size < 100_000


@pytest.mark.slow
def test_every_model_predicts_what_it_did(written):
    rows = np.load(written / "rows.npy")
    for name, told in expected(written / "models").items():
        model = load_model(written / "models" / name)
        assert type(model).__name__ == told["class"]
        assert model.n_clusters_ == told["n_clusters"]
        assert told["parameters"].items() <= model.get_params().items()
        assert list(getattr(model, "feature_names_in_", [])) == told["names"]
        assert repr(model.pixel_columns_) == told["pixel_columns"]
        if told["names"]:
            del model.feature_names_in_  # these rows have none
        np.testing.assert_array_equal(model.predict(rows_for(name, rows)), told["labels"], err_msg=name)


@pytest.mark.slow
def test_every_tree_goes_on_learning(written):
    rows = np.load(written / "rows.npy")
    for name, told in expected(written / "models").items():
        model = load_model(written / "models" / name)
        if not hasattr(model, "partial_fit"):
            continue
        assert model.tree_.to_text().count("cluster") == model.n_clusters_
        if told["names"]:
            del model.feature_names_in_
        model.partial_fit(rows_for(name, rows))
        assert (model.n_batches_, model.n_passes_) == (2, 1)
        assert model.tree_.n_rows[0] == round(0.7 * len(rows)) + len(rows)


def test_every_result_of_a_pass_is_read_to_the_last_bit(written):
    digests = expected(written / "journal")["digests"]
    assert {name.split("-")[1] for name in digests} >= {"FirstPass", "BranchPass", "ValleyPass"}
    for name, digest in digests.items():
        assert codec.digest(codec.load(written / "journal" / name)) == digest


def test_a_finished_job_is_known_whatever_version_runs_it_again(written):
    work = Work(written / "work")
    about = json.loads((written / "work" / "job.json").read_text())["about"]
    assert work.changes(about | {"versions": {"mdh_dask": "another"}}) == []
    assert work.manifest(FINISHED)["outputs"].keys() == {"labels", "model"}
    assert work.outputs() == {"labels": "/job/l.zarr", "model": "/job/m.zarr"}
    assert len(work.attempts()) == 1


# What later versions will write


def test_a_journal_of_another_format_is_refused_with_the_remedy(tmp_path, monkeypatch):
    def work():
        with use_journal(FolderJournal(tmp_path, "job")):
            job_estimator().fit(job_rows())

    with monkeypatch.context() as patch:
        patch.setattr(codec, "FORMAT", 2)
        work()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(codec.OtherFormatError) as caught:
        work()
    assert re.sub(r"\S*\.npz", "FILE", str(caught.value)) == (
        f"FILE has format 2, which another version of mdh_dask wrote; this is mdh_dask {__version__}, which reads "
        "format 1: continue with that version, or discard its work with restart=True"
    )
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
