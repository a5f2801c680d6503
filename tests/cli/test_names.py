import subprocess
import sys
from textwrap import dedent

from mdh_dask._options import FLAGS, OPTIONS
from mdh_dask.cli.options import method_options
from mdh_dask.estimators.registry import all_methods, options_of


def test_the_names_for_early_checks_are_those_of_the_registry():
    assert {method: tuple(options_of(cls)) for method, cls in all_methods().items()} == OPTIONS
    assert list(OPTIONS) == list(all_methods())
    assert [option.name for option in method_options() if option.is_flag] == list(FLAGS)


def test_unknown_names_are_refused_before_anything_large_is_imported_and_in_the_same_words_after(tmp_path):
    script = """
    import sys
    from click.testing import CliRunner
    from mdh_dask.cli import mdh

    COMMANDS = {
        "fit x.npy --lavels 3": "No such option '--lavels'. (Did you mean",
        "fit x.npy --method mhd": "'mhd' is not one of 'rp', 'pca',",
        "fit x.npy --method kmean": "Did you mean 'kernel-kmeans'?",
        "fit x.npy --method depddp --n-projections 5": "--method depddp has no option --n-projections; its options are",
        "fit x.npy --method spectral --landmarks 5": "--method spectral has no option --landmarks; its options are",
        "fit x.npy --no-merge=3": "Option '--no-merge' does not take a value.",
        "fit x.npy --alpha": "Option '--alpha' requires an argument.",
        "fit --columns a": "Missing argument 'FEATURES'.",
        "fit --max-levels 3 gone.npy": "there is no file at gone.npy",
        "segment x.npy --sive 3": "No such option '--sive'.",
        "segment --sieve 3 gone.png": "there is no file at gone.png",
    }

    def errors():
        return [CliRunner().invoke(mdh, command.split()).stderr for command in COMMANDS]

    first = errors()
    assert not {"numpy", "sklearn", "numba"} & {*sys.modules}
    assert all(words in text for words, text in zip(COMMANDS.values(), first)), first
    import mdh_dask.estimators.registry
    without_times = [[text[text.find("there is"):] for text in texts] for texts in (first, errors())]
    assert without_times[0] == without_times[1]
    """
    (tmp_path / "x.npy").touch()
    subprocess.run([sys.executable, "-c", dedent(script)], cwd=tmp_path, check=True)


def test_keys_of_jobs_are_refused_before_anything_large_is_imported_and_in_the_same_words_after(tmp_path):
    script = """
    import sys
    from pathlib import Path
    from click.testing import CliRunner
    from mdh_dask.cli import mdh

    JOBS = {
        "[inputs]": "a job file has no key 'inputs' (did you mean 'input'?)",
        "[method]\\nname = 'mhd'": "method.name must be 'rp', 'pca',",
        "[method]\\nname = 'mdh'\\nmax_level = 3": "[method] with name = 'mdh' has no key 'max_level' (did you mean",
        "[cluster]\\nkind = 'slrum'": "cluster.kind must be",
        "[cluster]\\nwokers = 2": "[cluster] with kind = 'local' has no key 'wokers'",
        "[input]\\nkind = 'rws'": "input.kind must be 'rows', 'image' or 'scenes'",
        "[input]\\npth = 'x.npy'": "[input] with kind = 'rows' has no key 'pth' (did you mean 'path'?)",
        "[input]\\nkind = 'image'\\npath = 'x.tif'\\nfeatures = ['lob']": "input.features must be an array of some",
        "[output]\\nmodle = 'm.zarr'": "[output] of input.kind = 'rows' has no key 'modle'",
        "[run]\\noverwite = true": "[run] has no key 'overwite'",
        "[run]\\non_drift = 'label'": "[run] has no key 'on_drift'",
        "[input]\\n[run]\\noverwite = true": "input.path is missing",
        "[run]\\nopenmetrics = 'm.zarr'\\n[method]\\nmax_level = 3": "[method] with name = 'rp' has no key 'max_level'",
        "method = 1": "[method] must be a table; got 1, an integer",
    }
    INPUT, OUTPUT = "[input]\\npath = 'x.npy'\\n", "[output]\\nmodel = 'm.zarr'\\n"

    def errors():
        texts = []
        for content in JOBS:
            others = [table for table in (INPUT, OUTPUT) if table[:7] not in content]
            Path("job.toml").write_text("\\n".join([content, *others]))
            texts.append(CliRunner().invoke(mdh, ["run", "job.toml"]).stderr)
        return [text[text.find("job.toml:"):] for text in texts]

    first = errors()
    assert not {"dask.array", "sklearn", "numba"} & {*sys.modules}
    assert all(words in text for words, text in zip(JOBS.values(), first)), first
    import mdh_dask.estimators.registry
    assert first == errors()
    """
    (tmp_path / "x.npy").touch()
    subprocess.run([sys.executable, "-c", dedent(script)], cwd=tmp_path, check=True)
