"""Every page of the gallery runs by itself, draws, and warns of nothing.

Set ``LINKWISE_DATA`` to a folder without files, as it is for most users: the stand-ins are used.
"""

import re
import runpy
from pathlib import Path

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

PAGES = sorted((Path(__file__).parents[2] / "examples").rglob("plot_*.py"))
EXTRAS = {"plot_dask": "dask.array"}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_page_runs_and_draws(page, tmp_path, monkeypatch, capsys):
    if page.stem in EXTRAS:
        pytest.importorskip(EXTRAS[page.stem])
    monkeypatch.setenv("LINKWISE_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pyplot, "show", lambda: None)
    runpy.run_path(str(page), run_name="__main__")
    assert pyplot.get_fignums()
    for number in pyplot.get_fignums():
        pyplot.figure(number).canvas.draw()
    pyplot.close("all")
    assert not any(tmp_path.iterdir())  # nothing is left behind


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_page_has_the_form_of_a_gallery(page):
    text = page.read_text()
    title, line = text.split("\n")[1:3]
    assert text.startswith('"""\n')
    assert line == "=" * len(title)
    assert re.search(r"^# %%$", text, re.MULTILINE)
    assert "plt.show()" in text


def test_there_are_pages():
    assert len(PAGES) >= 10
