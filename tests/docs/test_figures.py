"""Figures of the pages are those of the result files."""

from __future__ import annotations

import pytest

from tests import figures

MARKED = [path for path in figures.pages() if "<!-- figure " in path.read_text(encoding="utf-8")]


@pytest.mark.skipif(not (figures.ROOT / "papers").exists(), reason="an sdist has no papers/")
@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.stem)
def test_figures_are_those_of_the_result_files(path):
    is_now, should_be = figures.renewed(path)
    assert is_now == should_be, "run python -m tests.figures"


def test_numbers_have_no_zero_before_the_point():
    assert [figures.short(value) for value in (0.841, -0.05, 1.0)] == [".84", "-.05", "1.00"]
