"""The reference and the gallery hold what is public, and nothing in them leads nowhere."""

import re

import pytest
from api_pages import Pages, public, write

import mdh_dask


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All pages by their names, and the broken references."""
    folder = tmp_path_factory.mktemp("site")
    broken = write(folder)
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}, broken


def test_every_public_name_has_a_page_with_its_parameters(site):
    pages, _ = site
    assert {f"mdh_dask.{name}.html" for name in mdh_dask.__all__} <= pages.keys()
    assert "n_projections : int" in pages["mdh_dask.RandomProjectionTree.html"]
    assert 'id="cut"' in pages["mdh_dask.RandomProjectionTree.html"]
    assert pages["notebooks.html"].count("<h3>") == pages["notebooks.html"].count("data:image/png") >= 8


def test_no_reference_of_a_docstring_names_nothing(site):
    assert site[1] == []


def test_no_link_leads_nowhere(site):
    pages, _ = site
    for name, text in pages.items():
        for target in re.findall(r'href="([^"]+)"', text):
            page, _, part = target.partition("#")
            assert page in pages, (name, target)
            assert not part or f'id="{part}"' in pages[page], (name, target)


def test_a_reference_to_what_is_not_there_is_found():
    def function():
        """See `mdh_dask.nothing` and `mdh_dask.Tree`.

        See Also
        --------
        nothing_else : Not there.
        """

    pages = Pages({**public(), "mdh_dask.function": function})
    assert 'href="mdh_dask.Tree.html"' in pages.page("mdh_dask.function")
    assert pages.broken == [("mdh_dask.function", "mdh_dask.nothing"), ("mdh_dask.function", "nothing_else")]
