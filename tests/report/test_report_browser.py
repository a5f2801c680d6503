"""The report in a browser: what is to be seen at every width, with a keyboard alone, and by a screen reader."""

from itertools import pairwise

import numpy as np
import pytest
from browser import Tab, browser_path
from helpers import png

from mdh_dask import RandomProjectionTree, cluster_profiles, drift
from mdh_dask.kernels import RBF, nystrom_map
from mdh_dask.report import Segments, write_report

pytestmark = pytest.mark.skipif(browser_path() is None, reason="needs Chromium or Chrome: apt-get install chromium")

DESKTOP, PHONE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844, "phone": True}, {
    "width": 320, "height": 600, "phone": True,
}  # fmt: skip

FOCUSABLE = """[...document.querySelectorAll('a[href], summary, [tabindex], input:checked')]
    .filter(e => e.tabIndex >= 0 && e.checkVisibility())"""

CONTRASTS = """(() => {
    const channels = colour => {
        const [r, g, b, a = 1] = colour.match(/[\\d.e-]+/g).map(Number)
        return colour.startsWith('color(srgb') ? [255 * r, 255 * g, 255 * b, a] : [r, g, b, a]
    }
    const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]))
    const behind = e => {
        if (!e) return [255, 255, 255]
        const own = channels(getComputedStyle(e).backgroundColor)
        return own[3] === 1 ? own : over(own, behind(e.parentElement))
    }
    const luminance = rgb => rgb.slice(0, 3)
        .map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0)
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const found = []
    while (walker.nextNode()) {
        const e = walker.currentNode.parentElement, text = walker.currentNode.data.trim()
        if (!text || !e.checkVisibility()) continue
        const back = behind(e)
        const [a, b] = [luminance(over(channels(getComputedStyle(e).color), back)), luminance(back)]
        found.push([text, (Math.max(a, b) + .05) / (Math.min(a, b) + .05)])
    }
    return found
})()"""


STRIPES = png(np.array([[[x * 8, 90, 160]] * 32 for x in range(32)], "u1"))


def blobs(n):
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(7 * centre, 1, (n, 14)) for centre in rng.normal(size=(6, 14))])


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A report of everything that a fit can tell, and one of drift."""
    folder = tmp_path_factory.mktemp("pages")
    model = RandomProjectionTree(n_projections=50).fit(blobs(500))
    profiles = cluster_profiles(model, blobs(500))
    names = ("a_very_long_name_of_a_column_without_any_place_to_break", *profiles.names[1:])
    fit = write_report(
        folder / "fit.html",
        model.tree_,
        title="Clusters of_something_with_a_very_long_name_that_has_no_place_to_break.zarr",
        facts={"Input": "s3://" + "folder/" * 30, "Versions": {"numpy": "2.0", "dask": "2025.1"}},
        feature_map=nystrom_map(blobs(10), RBF(), np.zeros(14), np.ones(14), n_components=3),
        profiles=type(profiles)(names, profiles.moments),
        images={"Stripes": STRIPES},
        segments=Segments({"The same stripes": STRIPES}, [STRIPES] * model.n_clusters_),
        sample=(blobs(20), model.predict(blobs(20))),
    )
    moved = write_report(
        folder / "drift.html", model.tree_, title="Drift", facts={}, drift=drift(model, blobs(300) + 0.5)
    )
    dark = np.zeros((model.n_clusters_, 3), np.uint8)
    segments = write_report(folder / "segments.html", model.tree_, title="Segments", facts={}, colours=dark)
    return {"fit": fit, "drift": moved, "segments": segments}


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with Tab(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


@pytest.mark.parametrize("page", ["fit", "drift"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("window", [DESKTOP, PHONE, NARROW], ids=["desktop", "phone", "narrow"])
def test_the_page_fills_the_window_and_no_more_and_nothing_goes_wrong(tab, pages, page, dark, window):
    tab.open(pages[page], **window, dark=dark)
    assert tab.evaluate("document.documentElement.scrollWidth") <= window["width"]
    assert tab.evaluate("innerWidth") == window["width"]
    pixels = tab.screenshot()
    assert pixels.shape[1] == window["width"] * (2 if "phone" in window else 1)
    assert pixels.std() > 10
    assert len(np.unique(pixels.astype(int) @ [65536, 256, 1])) > 50
    assert (pixels[0, 0].mean() < 128) == dark
    assert tab.complaints == []


@pytest.mark.parametrize("page", ["fit", "drift"])
def test_every_part_of_the_page_shows_something(tab, pages, page):
    tab.open(pages[page], **DESKTOP)
    boxes = tab.evaluate(
        "[...document.querySelectorAll('section, svg, .map, img, .strip')].filter(e => e.checkVisibility())"
        ".map(e => e.getBoundingClientRect()).map(b => [b.x, b.y + scrollY, b.width, b.height])"
    )
    whole = tab.screenshot(whole=True)
    assert len(boxes) > 10
    for x, y, width, height in np.array(boxes).round().astype(int):
        part = whole[y : y + height, x : x + width]
        assert part.size > 0
        assert part.std() > 2


@pytest.mark.parametrize("page", ["fit", "drift"])
@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_tab_key_reaches_everything_that_can_be_used_in_the_order_of_the_page(tab, pages, page, window):
    tab.open(pages[page], **window)
    n = tab.evaluate(f"(window.all = {FOCUSABLE}).length")
    assert n > 15
    reached = []
    for _ in range(n):
        tab.press("Tab")
        reached.append(tab.evaluate("all.indexOf(document.activeElement)"))
        outline = tab.evaluate("(s => [s.outlineStyle, s.outlineWidth])(getComputedStyle(document.activeElement))")
        assert outline == ["solid", "3px"]
    assert reached == list(range(n))


@pytest.mark.parametrize("key", ["Enter", " "])
def test_parts_unfold_and_fold_by_keyboard(tab, pages, key):
    tab.open(pages["fit"], **DESKTOP)
    tab.evaluate("document.querySelector('#profile-4 summary').focus()")
    states = []
    for _ in range(2):
        tab.press(key)
        states.append(tab.evaluate("document.querySelector('#profile-4').open"))
    assert states == [True, False]


def test_a_click_on_a_colour_lights_its_cluster_up_everywhere(tab, pages):
    tab.open(pages["fit"], **DESKTOP)
    lit = """[...document.querySelectorAll('.map a, #clusters tr.k, #profiles tr.k, .scatter path')]
        .filter(e => getComputedStyle(e).opacity == 1)"""
    mask = "getComputedStyle(document.querySelector('.under'), '::after').backgroundImage"
    n_all = tab.evaluate(f"{lit}.length")
    assert tab.evaluate(mask) == "none"
    tab.evaluate("document.querySelector('#clusters tr:nth-child(3) label').click()")
    tab.evaluate("Promise.all(document.getAnimations().map(a => a.finished)).then(() => 0)")
    assert 4 <= tab.evaluate(f"{lit}.length") < n_all
    assert tab.evaluate(f"{lit}.every(e => e.classList.contains('k2'))")
    assert tab.evaluate(mask).startswith('url("data:image/png')


def test_curves_of_dark_segments_stand_out_in_the_dark(tab, pages):
    tab.open(pages["segments"], **DESKTOP, dark=True)
    curve = "getComputedStyle(document.querySelector('.valley path')).stroke.match(/[\\d.]+/g).map(Number)"
    assert max(tab.evaluate(curve)[:3]) > 0.25


@pytest.mark.parametrize("page", ["fit", "drift"])
def test_a_screen_reader_finds_landmarks_names_and_headings_in_order(tab, pages, page):
    tab.open(pages[page], **DESKTOP)
    found = tab.accessible()
    roles = [role for role, _, _ in found]
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert roles.count(landmark) == 1
    for role, name, node in found:
        if role in ("image", "region", "link", "navigation", "DisclosureTriangle", "heading", "columnheader"):
            assert name, node
    levels = [
        next(p["value"]["value"] for p in node["properties"] if p["name"] == "level")
        for role, _, node in found
        if role == "heading"
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("page", ["fit", "drift"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_stands_out_from_what_is_behind_it(tab, pages, page, dark):
    tab.open(pages[page], **DESKTOP, dark=dark)
    tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    contrasts = tab.evaluate(CONTRASTS)
    assert len(contrasts) > 100
    assert [(text, ratio) for text, ratio in contrasts if ratio < 4.5] == []


def test_the_page_prints(tab, pages):
    tab.open(pages["fit"], **DESKTOP)
    tab("Emulation.setEmulatedMedia", media="print")
    assert tab.evaluate("document.querySelector('nav').checkVisibility()") is False
    assert tab.screenshot().std() > 10
    tab("Emulation.setEmulatedMedia", media="")
