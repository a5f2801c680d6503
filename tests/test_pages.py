"""The pages for readers: every snippet is run, or read by the program that it is for, and what is said of it holds."""

import ast
import json
import re
import shlex
import tomllib
from collections import Counter
from contextlib import chdir, contextmanager
from importlib.metadata import entry_points, metadata
from pathlib import Path
from textwrap import dedent

import nbformat
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from benchmarks import costs
from benchmarks.shared import cell_text
from click.testing import CliRunner
from PIL import Image
from test_images import beach

import mdh_dask
from mdh_dask import RandomProjectionTree, __version__, load_model, start_cluster
from mdh_dask._words import full_count
from mdh_dask.cli import mdh
from mdh_dask.estimators import trees
from mdh_dask.io import open_rows, write_rows
from mdh_dask.jobs.job import read_job
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.simulate import gaussian_mixture
from tests.manifests import DEPLOY, HAS_KUBECTL, WITHOUT_KUBECTL, assert_valid, of_kind, rendered

ROOT = DEPLOY.parent

PAGES = [
    "README.md", "CONTRIBUTING.md", "deploy/README.md", "deploy/jobs.md", "deploy/slurm/README.md",
    "deploy/schedulers.md", "deploy/kubernetes/README.md", "notebooks/README.md", "tests/benchmarks/README.md",
]  # fmt: skip

FENCED = re.compile(r"^( *)```(?:\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)

PICTURE = "      rows (Dask / Zarr / NumPy, chunked by rows)"
"""Begins the only block that is no snippet."""

TEXT = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}

SNIPPETS = {page: [dedent(text) for _, text in FENCED.findall(TEXT[page])] for page in PAGES}

ELSEWHERE = {
    ("deploy/jobs.md", "[input]                               # night.toml"): (
        "test_scenes.py", "test_the_job_of_the_page_labels_scenes_and_keeps_versions_of_the_model"
    ),
    ("deploy/schedulers.md", "apiVersion: argoproj.io"): (
        "test_schedulers.py", "test_the_workflow_of_argo_has_keys_that_there_are_and_steps_with_templates"
    ),
    ("deploy/schedulers.md", "import subprocess\nfrom datetime"): (
        "test_schedulers.py", "test_airflow_repeats_what_may_succeed_later_only"
    ),
    ("deploy/schedulers.md", "import subprocess\n\nfrom prefect"): (
        "test_schedulers.py", "test_prefect_repeats_what_may_succeed_later_only"
    ),
    ("deploy/slurm/README.md", "for i in 0 1 2"): (
        "test_slurm.py", "test_every_task_of_an_array_runs_a_job_of_its_own"
    ),
}  # fmt: skip
"""Snippets that other files test."""

TESTED = []


def snippet(page, *beginnings):
    """Give a test the snippets of a page that begin so."""
    found = []
    for beginning in beginnings:
        (text,) = (text for text in SNIPPETS[page] if text.startswith(beginning))
        found.append(pytest.param(text, id=page))
        TESTED.append((page, text))
    return pytest.mark.parametrize("text", found)


def commands(text):
    """Return the commands of a shell's snippet as lists of words."""
    lines = text.replace("\\\n", " ").replace("&&", "\n").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def extras_exist(requirement):
    """Tell whether a requirement is this package, with extras that it has."""
    found = re.fullmatch(r"(?:mdh_dask|\.|\./mdh_dask)(?:\[(.*)\])?", requirement)
    return found and set((found[1] or "demo").split(",")) <= set(metadata("mdh_dask").get_all("Provides-Extra"))


def run(command, *more):
    """Run a command of a snippet in this process."""
    assert command[0] == "mdh-dask"
    return CliRunner().invoke(mdh, [*command[1:], *more], prog_name="mdh-dask")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the rows that snippets read: three clusters."""
    X, y = (part.compute() for part in gaussian_mixture(6000, 5, 3, sd=1.0, random_state=0))
    write_rows(X.astype("float32"), tmp_path / "features.zarr", chunk_rows=1500)
    monkeypatch.chdir(tmp_path)
    return X.astype("float32"), y


@pytest.fixture
def elsewhere(monkeypatch):
    """Clusters of other machines, whose settings are checked before threads take their place."""
    started = []

    @contextmanager
    def start(*args, **settings):
        start_cluster(*args, **settings)  # checks all that can be checked without the other machines
        started.append(args[0])
        with start_cluster("threads") as where:
            yield where

    monkeypatch.setitem(vars(mdh_dask), "start_cluster", start)
    return started


def test_every_snippet_has_a_test():
    snippets = [(page, text) for page in PAGES for text in SNIPPETS[page] if not text.startswith(PICTURE)]
    for page, beginning in ELSEWHERE:
        snippets.remove(next((page, text) for text in SNIPPETS[page] if text.startswith(beginning)))
    assert Counter(snippets) == Counter(TESTED)
    for file, test in ELSEWHERE.values():
        (found,) = (ROOT / "tests").rglob(file)
        assert f"def {test}(" in found.read_text(encoding="utf-8")


# README


@snippet("README.md", "python3 -m venv .venv && ")
def test_the_first_command_installs_what_the_demo_needs(text):
    """What the demo does is tested in test_demo.py, by the same words."""
    _, pip, demo = commands(text)
    assert extras_exist(pip[-1])
    assert demo == [".venv/bin/mdh-dask", "demo"]
    assert [point.value for point in entry_points(group="console_scripts", name="mdh-dask")] == ["mdh_dask.cli:main"]


def test_the_demo_says_how_often_it_reads_its_data(here):
    Image.fromarray(beach()).save("beach.png")
    result = run(["mdh-dask", "demo", "--image", "beach.png", "--out", "d", "--scheduler", "threads"])
    assert full_count(load_model("d/model.zarr").n_passes_, "pass") in result.stderr


@pytest.mark.slow
@snippet("README.md", "from mdh_dask import HierarchicalMDH, cluster_profiles")
def test_the_first_lines_of_python_find_the_clusters(text, here, capsys):
    names = {}
    exec(text, names)
    model, X, y = (names[name] for name in ("model", "X", "y"))
    assert model.n_clusters_ == 5
    assert model.labels_.chunks == (X.chunks[0],)
    assert adjusted_rand_index(y, model.labels_) > 0.99
    np.testing.assert_array_equal(load_model("model.zarr").predict(X[:1000]), model.labels_[:1000])
    printed = capsys.readouterr().out
    for line in ("5\n", "|--- cluster 0: rows=", "cluster     rows  feature"):
        assert line in printed


@pytest.mark.slow
@snippet("notebooks/README.md", "from mdh_dask import HierarchicalKernelMDH, KernelPCAFeatures")
def test_kernels_find_the_two_moons_with_and_without_their_number(text):
    names = {}
    exec(text, names)
    X, y, model, features = (names[name] for name in ("X", "y", "model", "features"))
    assert adjusted_rand_index(y, names["labels"]) > 0.99
    assert adjusted_rand_index(y, model.labels_) > 0.99
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert features.transform(X).shape == (len(X), features.n_components_)
    assert len(np.unique(names["labels"])) == 2


@pytest.mark.slow
@snippet("README.md", "mdh-dask fit features.zarr")
def test_the_commands_write_what_they_name(text, here):
    assert_commands_write_what_they_name(text, here, ["fit", "predict", "drift", "segment"])


@pytest.mark.slow
@snippet("deploy/jobs.md", "mdh-dask fit features.zarr")
def test_the_commands_with_their_options_write_what_they_name(text, here):
    assert_commands_write_what_they_name(text, here, ["fit", "predict", "fit", "drift", "segment"])


def assert_commands_write_what_they_name(text, here, names):
    X, y = here
    write_rows(X[:1000], "new.zarr")
    pq.write_table(pa.table({f"x{i}": column for i, column in enumerate(X[:3000].T)}), "tonight.parquet")
    Image.fromarray(beach()).save("scene.tif")
    lines = commands(text)
    assert [line[1] for line in lines] == names
    for line in lines:
        result = run(line, "--scheduler", "threads")
        assert result.exit_code == 0, result.output
        written = [line[i + 1] for i, word in enumerate(line) if word in ("--out", "--model", "--report", "--preview")]
        assert all(Path(path).exists() for path in written)
    assert adjusted_rand_index(y, open_rows("labels.zarr", ndim=1).compute()) > 0.99
    np.testing.assert_array_equal(open_rows("new-labels.zarr", ndim=1), open_rows("labels.zarr", ndim=1)[:1000])


@pytest.mark.slow
@snippet("deploy/jobs.md", "[input]                               # job.toml")
def test_the_job_file_is_checked_and_run(text, here):
    assert 's3://archive/features.zarr"' in text  # what is behind URLs is tested in test_s3.py
    Path("job.toml").write_text(text.replace("s3://archive/", ""))
    job = read_job(Path("job.toml"))
    assert (job.kind, job.cluster["workers"]) == ("local", 4)
    checked = run(["mdh-dask", "run", "--check", "job.toml"])
    assert re.search("passes.*tasks.*memory", checked.stdout, re.DOTALL | re.IGNORECASE), checked.output
    assert not Path("job.work").exists()
    result = run(["mdh-dask", "run", "job.toml", "--scheduler", "threads"])
    assert result.exit_code == 0, result.output
    model = load_model("model.zarr")
    assert (type(model), model.n_projections, model.feature_map) == (RandomProjectionTree, 500, "local_scaling")
    assert len(open_rows("labels.zarr", ndim=1)) == 6000
    assert "nothing to do" in run(["mdh-dask", "run", "job.toml", "--scheduler", "threads"]).output


# What pages say of programs


@snippet("CONTRIBUTING.md", "bash tests/run.sh")
def test_the_script_of_the_tests_hands_arguments_to_pytest(text):
    assert {(ROOT / words[1]).exists() for words in commands(text)} == {True}
    assert '"$@"' in (ROOT / "tests/run.sh").read_text(encoding="utf-8")


@snippet("CONTRIBUTING.md", "@documented")
def test_a_method_is_a_class_that_says_what_is_different(text, here):
    names = vars(trees) | {"__name__": __name__}
    exec(text, names)
    model = names["PCATree"]().fit(here[0])
    assert (model.n_clusters_, model.n_projections) == (3, 5)
    assert "projection" not in model.get_params()


def spans(page, beginning):
    """Return what stands in the text of a page between backticks and begins so."""
    return [" ".join(span.split()) for span in re.findall(rf"`({beginning}[^`]*)`", FENCED.sub("", TEXT[page]))]


@pytest.mark.parametrize("page", PAGES)
def test_options_in_the_text_exist(page):
    for span in spans(page, "mdh-dask "):
        words = [word for word in shlex.split(span)[1:] if not word.endswith("...")]
        parts = [mdh, *(mdh.commands[word] for word in words if word in mdh.commands)]
        known = {option for part in parts for parameter in part.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known | {"--help"}, span


def test_clusters_in_the_text_can_be_started(elsewhere):
    found = [text for page in PAGES for text in spans(page, "(?:with )?start_cluster\\(") if "..." not in text]
    for span in found:
        call = ast.parse(span.removeprefix("with ").rstrip(":"), mode="eval").body
        with mdh_dask.start_cluster(*map(ast.literal_eval, call.args), **keywords(call)):
            pass
    assert elsewhere == ["slurm"]


def keywords(call):
    return {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}


def test_the_citation_and_the_changelog_say_the_same_of_the_version():
    (said,) = re.findall(r"^## (\S+), (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[:1]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert said == (cited["version"], str(cited.get("date-released", "unreleased")))
    assert cited["version"] == __version__


# Deploy


@snippet("deploy/README.md", "seconds = passes x max(")
def test_the_table_of_times_follows_from_the_formula(text):
    assert f"{1e9 * costs.VALUE_SECONDS:g} ns / threads" in text
    assert f"blocks x {1e3 * costs.BLOCK_SECONDS:g} ms" in text
    table = re.findall(
        r"^\| (?:up to )?(\d+) (m|b)illion \|.*?\| .*? (\d+) threads.*\| (\d+) \|$", TEXT["deploy/README.md"], re.M
    )
    assert len(table) == 4
    for count, unit, threads, seconds in table:
        rows, threads = int(count) * {"m": 1e6, "b": 1e9}[unit], int(threads)
        nbytes = rows * 50 * 4
        blocks = nbytes / (128 if nbytes > 1e12 else 32) / 2**20
        reading = max(rows * 50 * costs.VALUE_SECONDS / threads, nbytes / (2e9 * max(threads / 16, 1)))
        assert 3 * (reading + blocks * costs.BLOCK_SECONDS) == pytest.approx(int(seconds), rel=0.05)


def published(group, suite, title, column, *line):
    """A value of a results page, by the beginnings of the title of its table and of its line."""
    tables = json.loads((ROOT / f"tests/benchmarks/results/{group}.json").read_text())[suite]["tables"]
    table = next(one for one in tables if one["title"].startswith(title))
    return next(row for row in table["rows"] if tuple(row[: len(line)]) == line)[table["columns"].index(column)]


def test_the_figures_of_sizing_are_those_of_the_published_tables():
    (computed,) = costs.run()
    seconds = published("performance", "speed", "Speed: median seconds", "RandomProjectionTree, store", 10**7, 50, 20)
    assert f"in {seconds:.2g} s on two threads" in TEXT["deploy/README.md"]
    assert computed.rows[0][2] == pytest.approx(seconds, rel=0.05)
    ms = [published("performance", "scale_out", "Model: formula", "value", name) for name in ("client", "scheduler")]
    assert sum(ms) == pytest.approx(1e3 * costs.BLOCK_SECONDS, rel=0.05)
    ns = published("quality", "many", "Processor time of labels", "ns a column and split", 150, 768)
    assert f"Labels take {ns:.2g} ns".replace("0.", ".") in TEXT["deploy/README.md"]
    megabytes = published("performance", "memory", "Largest resident", "peak, MB", "client, with the scheduler")
    assert f"columns they used {megabytes / 1e3:.1f} GB" in TEXT["deploy/README.md"]
    for line in computed.rows:
        assert published("performance", "costs", "3 passes", "seconds", line[0]) == line[2]


def test_the_table_of_costs_is_what_its_command_prints():
    (table,) = costs.run()
    units = {"million": 10**6, "billion": 10**9}
    found = re.findall(r"^\| (\d+) (\w+illion) \| ([\d.e |-]+) \|$", TEXT["deploy/README.md"], re.M)
    found = [[str(int(count) * units[unit]), *cells.split(" | ")] for count, unit, cells in found]
    assert found == [[cell_text(value) for value in row] for row in table.rows]
    assert all(f"${price}" in TEXT["deploy/README.md"] for price in (costs.PRICE, costs.SPOT_PRICE))


@snippet("deploy/README.md", "bytes of a worker = 400 MB")
def test_the_figures_of_memory_follow_from_the_formula(text):
    assert "threads x (5 blocks + 2 results)" in text
    said = re.search(
        r"([\d.]+) GB for two threads and 50 columns.*?([\d.]+) GB for 1000", TEXT["deploy/README.md"], re.S
    )
    for gigabytes, columns in zip(said.groups(), (50, 1000)):
        result = min(40_000 * columns, 33e6) * 4
        assert (400e6 + 2 * (5 * 2**25 + 2 * result)) / 1e9 == pytest.approx(float(gigabytes), abs=0.06)


@snippet("deploy/slurm/README.md", "git clone")
def test_what_slurm_needs_is_installed_and_copied_from_where_it_is(text):
    words = commands(text)
    assert extras_exist(next(line[-1] for line in words if line[:2] == ["pip", "install"]))
    (copied,) = (line[1] for line in words if line[0] == "cp")
    assert (ROOT / Path(copied).relative_to("mdh_dask")).exists()


@snippet("deploy/slurm/README.md", "[input]")
def test_the_job_of_the_batch_script_leaves_the_cluster_to_it(text, here):
    Path("job.toml").write_text(text)
    checked = run(["mdh-dask", "run", "--check", "job.toml"])
    assert re.search("passes.*memory", checked.stdout, re.DOTALL | re.IGNORECASE), checked.output
    result = run(["mdh-dask", "run", "job.toml", "--scheduler", "threads"])
    assert result.exit_code == 0, result.output
    assert {path.name for path in Path().iterdir()} >= set(tomllib.loads(text)["output"].values())


@snippet("deploy/slurm/README.md", "sbatch --nodes=4")
def test_the_batch_script_gets_the_command_of_that_job(text):
    """What the script does is tested in test_slurm.py, on a SLURM."""
    ((*options, script, command, job),) = commands(text)
    assert (command, job) == ("run", "job.toml")
    assert (DEPLOY / "slurm" / script).exists()
    asked = {option.partition("=")[0] for option in options[1:]}
    assert asked == {"--nodes", "--cpus-per-task", "--mem", "--time"}


@snippet("deploy/slurm/README.md", "import dask.array as da")
def test_a_notebook_starts_jobs_of_slurm(text, here, elsewhere):
    names = {}
    exec(text, names)
    assert elsewhere == ["slurm"]
    assert adjusted_rand_index(here[1], names["labels"]) > 0.99


@snippet("deploy/kubernetes/README.md", "docker build", "kubectl -n mdh-dask patch cronjob")
def test_commands_for_kubernetes_name_what_the_manifests_make(text):
    """What the cluster does is tested in test_entry_points.py."""
    lines = commands(text)
    assert {word for line in lines for word in line if word.startswith("mdh-dask:")} <= {f"mdh-dask:{__version__}"}
    assert all((ROOT / line[line.index("--file") + 1]).exists() for line in lines if "--file" in line)
    (folder,) = (ROOT / line[line.index("-k") + 1] for line in lines if "-k" in line)
    assert (folder / "kustomization.yaml").exists()
    if HAS_KUBECTL:
        resources = rendered(folder)
        made = {(one["kind"].lower(), one["metadata"]["name"]) for one in resources} | {("job", "first")}
        made |= {("deployment", f"{of_kind(resources, 'DaskCluster')['metadata']['name']}-scheduler")}
        named = re.findall(r"\b(cronjob|daskcluster|deployment|job)[/ ]([a-z][\w-]+)", text)
        assert set(named) <= made
        assert ("deployment", "mdh-scheduler") in named


@pytest.mark.skipif(not HAS_KUBECTL, reason=WITHOUT_KUBECTL)
@snippet("deploy/kubernetes/README.md", "kubectl apply -k deploy/kubernetes/reader")
def test_the_reader_of_reports_is_waited_for_reached_and_removed(text):
    applied, *rest = commands(text)
    (pod,) = rendered(ROOT / applied[applied.index("-k") + 1])
    assert re.findall(r"pod[/ ](\S+)", text) == [pod["metadata"]["name"]] * len(rest)
    assert pod["spec"]["containers"][0]["args"][-1] in rest[1]


@pytest.mark.skipif(not HAS_KUBECTL, reason=WITHOUT_KUBECTL)
@snippet("deploy/kubernetes/README.md", "# in your kustomization.yaml")
def test_the_patch_sizes_the_workers_and_nothing_else(text, tmp_path):
    overlay = DEPLOY / "kubernetes/overlays/local"
    patched = tmp_path / "own"
    patched.mkdir()
    up = "../" * len(patched.resolve().parts[1:])
    (patched / "kustomization.yaml").write_text(f"resources: [{up}{overlay.resolve().relative_to('/')}]\n{text}")
    before, after = (of_kind(rendered(folder), "DaskCluster")["spec"] for folder in (overlay, patched))
    (own,) = after["worker"]["spec"]["containers"]
    assert own["resources"] == yaml.safe_load(yaml.safe_load(text)["patches"][0]["patch"])[0]["value"]
    own["resources"] = before["worker"]["spec"]["containers"][0]["resources"]
    assert after == before


@snippet("deploy/kubernetes/README.md", "from pathlib import Path")
def test_a_notebook_asks_for_a_cluster_of_valid_pods_with_a_name_of_its_own(text):
    found = {}
    with chdir(ROOT):
        exec(text.partition("with KubeCluster")[0], found)
    assert_valid(found["pods"])
    assert found["pods"]["metadata"]["name"] == "mine"
    assert found["pods"]["spec"]["scheduler"]["service"]["selector"]["dask.org/cluster-name"] == "mine"


@snippet("deploy/kubernetes/README.md", "python - <<END")
def test_the_certificate_is_made_and_named_as_the_manifests_mount_it(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program, _, rest = text.partition("<<END\n")[2].partition("\nEND\n")
    exec(program, {})
    made = {path.name for path in tmp_path.iterdir()}
    assert all("-----BEGIN" in Path(name).read_text() for name in made)
    secret, removed = commands(rest)
    assert {word.partition("=")[2] for word in secret if word.startswith("--from-file")} == made == set(removed[1:])
    assert "mdh-dask-tls" in secret
    mounted = (DEPLOY / "kubernetes/components/tls/kustomization.yaml").read_text(encoding="utf-8")
    assert "secret: {name: mdh-dask-tls}" in mounted


@snippet("deploy/kubernetes/README.md", "uv pip compile")
def test_the_lock_was_made_by_the_command_that_is_named(text):
    (words,) = commands(text)
    made_by = (DEPLOY / "requirements.lock").read_text(encoding="utf-8").splitlines()[1].lstrip("# ")
    assert [word for word in words if word != "--upgrade"] == shlex.split(made_by)


# Notebooks


@snippet("notebooks/README.md", 'pip install "mdh_dask[notebooks]"')
def test_notebooks_are_installed_with_what_they_need(text):
    pip, lab = commands(text)
    assert extras_exist(pip[2])
    assert lab[-1] == "notebooks"


@snippet("notebooks/README.md", "pip install papermill")
def test_papermill_sets_parameters_that_the_notebook_has(text):
    papermill = commands(text)[1]
    notebook = nbformat.read(ROOT / "notebooks" / papermill[1], as_version=4)
    (cell,) = (cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ()))
    known = {line.targets[0].id for line in ast.parse(cell.source).body}
    given = [papermill[i + 1] for i, word in enumerate(papermill) if word == "-p"]
    assert given
    assert set(given) <= known
