"""The page of claims says what the ledger says, with links that lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not (ROOT / "papers").exists(), reason="an sdist has no papers/")
def test_every_claim_has_a_heading_and_a_link():
    ledger = (ROOT / "papers" / "CLAIMS.md").read_text(encoding="utf-8")
    page = runpy.run_path(str(ROOT / "docs" / "claims_page.py"))["page_of"](ledger)
    claims = re.findall(r"^### (\w+): ", ledger, re.M)
    assert claims
    for claim in claims:
        target = f"claim-{claim.lower()}"
        assert f"| [{claim}](#{target}) |" in page
        assert re.search(rf"^\({target}\)=\n### {claim}, [\w ]+: \S", page, re.M)
    assert "by hand" not in page
    assert page.index('class="verdicts"') < page.index("| claim |")
    assert "README.md" not in page
    for name in re.findall(r"\]\((\w+\.md)\)", page):
        assert (ROOT / "docs" / "papers" / name).exists(), name
