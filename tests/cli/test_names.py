import subprocess
import sys
from textwrap import dedent

import pytest

from mdh_dask.cli.options import names_of


def test_unknown_options_and_keys_of_jobs_are_refused_before_anything_large_is_imported(tmp_path):
    script = """
    import sys
    from pathlib import Path
    from click.testing import CliRunner
    from mdh_dask.cli import mdh

    COMMANDS = {
        "fit x.npy --lavels 3": "No such option '--lavels'. A parameter of the method is written as -p lavels=3. Did",
        "fit x.npy --no-merge=3": "Option '--no-merge' does not take a value.",
        "fit x.npy --quantile": "Option '--quantile' requires an argument.",
        "fit --columns a": "Missing argument 'FEATURES'.",
        "fit --max-clusters 3 gone.npy": "there is no file at gone.npy",
        "segment x.npy --sive 3": "No such option '--sive'.",
        "segment --sieve 3 gone.png": "there is no file at gone.png",
    }

    said = [CliRunner().invoke(mdh, command.split()).stderr for command in COMMANDS]
    assert not {"numpy", "sklearn", "numba"} & {*sys.modules}
    assert all(words in text for words, text in zip(COMMANDS.values(), said)), said

    JOBS = {
        "[inputs]": "a job file has no key 'inputs' (did you mean 'input'?)",
        "[cluster]\\nkind = 'slrum'": "cluster.kind must be",
        "[cluster]\\nwokers = 2": "[cluster] with kind = 'local' has no key 'wokers'",
        "[input]\\nkind = 'rws'": "input.kind must be 'rows', 'image' or 'scenes'",
        "[input]\\npth = 'x.npy'": "[input] with kind = 'rows' has no key 'pth' (did you mean 'path'?)",
        "[input]\\nkind = 'image'\\npath = 'x.tif'\\nfeatures = ['lob']": "input.features must be an array of some",
        "[output]\\nmodle = 'm.zarr'": "[output] of input.kind = 'rows' has no key 'modle'",
        "[run]\\noverwite = true": "[run] has no key 'overwite'",
        "[run]\\non_drift = 'label'": "[run] has no key 'on_drift'",
        "[input]\\n[run]\\noverwite = true": "input.path is missing",
    }
    INPUT, OUTPUT = "[input]\\npath = 'x.npy'\\n", "[output]\\nmodel = 'm.zarr'\\n"

    said = []
    for content in JOBS:
        others = [table for table in (INPUT, OUTPUT) if table[:7] not in content]
        Path("job.toml").write_text("\\n".join([content, *others]))
        text = CliRunner().invoke(mdh, ["run", "job.toml"]).stderr
        said.append(text[text.find("job.toml:"):])
    assert not {"dask.array", "sklearn", "numba"} & {*sys.modules}
    assert all(words in text for words, text in zip(JOBS.values(), said)), said
    """
    (tmp_path / "x.npy").touch()
    subprocess.run([sys.executable, "-c", dedent(script)], cwd=tmp_path, check=True)


@pytest.mark.slow
def test_a_module_is_imported_later_by_the_first_use_of_what_it_holds():
    program = """
    import importlib.util, sys
    from mdh_dask._process import import_later

    import_later("scipy.stats", "no_such_package")
    import sklearn.utils.fixes
    import scipy.stats

    assert importlib.util.find_spec("scipy.stats") is not None  # which other packages ask
    assert "scipy.stats._stats_py" not in sys.modules
    assert "no_such_package" not in sys.modules
    import scipy.stats.distributions
    from scipy.stats import norm

    assert scipy.stats.norm is norm is scipy.stats.distributions.norm
    """
    subprocess.run([sys.executable, "-c", dedent(program)], check=True)


@pytest.mark.parametrize("value", ["red,nir", " red , nir", "red,,nir,"])
def test_lists_of_names_may_have_spaces_and_commas_without_a_name(value):
    assert names_of(None, None, value) == ["red", "nir"]
