"""The site: built without a warning, with a page for all that is public, and examples that run.

A job of the workflow builds it for every change, so that it is built here at night only.
"""

import re
import subprocess
import sys
import tomllib
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import unquote

import pytest

import mdh_dask

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]

PAGES = ROOT / "deploy/docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", str(PAGES), str(ROOT), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "deploy/docs"


@pytest.mark.nightly
def test_every_public_name_has_a_page_with_its_parameters(site):
    assert {f"mdh_dask.{name}" for name in mdh_dask.__all__} <= {path.stem for path in (site / "api").iterdir()}
    page = (site / "api/mdh_dask.RandomProjectionTree.html").read_text()
    assert '<span class="pre">n_projections</span></span><span class="o">' in page  # in the signature
    assert 'id="mdh_dask.RandomProjectionTree.cut"' in page


@pytest.mark.nightly
def test_every_link_inside_the_site_leads_to_a_file_and_to_a_place_in_it(site):
    root = site.parents[1]
    text = {path.resolve(): path.read_text(errors="replace") for path in root.rglob("*.html")}
    lost = set()
    for page in (path for path in text if "_static" not in path.parts):
        for link in set(re.findall(r'(?:href|src)="([^"]+)"', text[page])):
            path, _, place = unquote(link).partition("#")
            if re.match(r"\w+:", link) or link == "#":
                continue
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not target.exists() or (place and target in text and f'id="{place}"' not in text[target]):
                lost.add((page.name, link))
    assert not lost


@pytest.mark.nightly
def test_the_gallery_shows_every_notebook(site):
    page = (site / "gallery.html").read_text()
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{path.stem}.html" in page
        assert f"{path.stem}.png" in page


@pytest.mark.parametrize("page", ["index", "tutorial"])
def test_the_examples_of_a_page_run_in_their_order(page, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mdh_dask, "start_cluster", lambda kind, workers: nullcontext())
    content = (PAGES / f"{page}.md").read_text()
    snippets = re.findall(r"```python\n(.*?)```", content, re.DOTALL)
    names = {}
    for text in snippets:
        exec(text, {"__name__": "__main__"} if "__main__" in text else names)
    for text in re.findall(r"```toml\n(.*?)```", content, re.DOTALL):
        job = tomllib.loads(text)
        assert Path(job["input"]["path"]).exists()
        assert not any(Path(path).exists() for path in job["output"].values())
    said = capsys.readouterr().out.split()
    for expected in re.findall(r"n_clusters_\)  # (\d+)", "".join(snippets)):
        assert expected in said
