"""Agents: proposals, lower trust, everything undone at once; the server over stdio."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from linkwise.llm import decide, proposals, take_back
from linkwise.llm._proposals import answer_as_agent, propose_merge, propose_split

from .cases import session_of, texts

X, RECORDS, LABELS = texts()


def test_an_agent_counts_less_and_is_undone_at_once():
    with session_of(X, n_clusters=3) as session:
        session.tell("same", (0, 3))
        answer_as_agent(session, "different", (0, 1), "agent x")
        answer_as_agent(session, "same", (1, 4), "agent x")
        assert all(0 < a.weight < 1 for a in session.snapshot().answers if a.who == "agent x")
        first, second, third = np.unique(session.labels_).tolist()
        decide(session, propose_merge(session, (first, second), "agent x").id, True)
        assert len(np.unique(session.labels_)) == 2
        propose_merge(session, (first, third), "agent x")
        assert take_back(session, "agent x") == 2
        assert [a.who for a in session.snapshot().answers if a.is_active] == ["ana"]
        assert len(np.unique(session.labels_)) == 3
        assert proposals(session) == []


def test_declined_proposals_do_not_return():
    with session_of(X, n_clusters=3) as session:
        first, second, _ = np.unique(session.labels_).tolist()
        merge = propose_merge(session, (first, second), "agent x")
        decide(session, merge.id, False)
        assert session.snapshot().answers[-1].said == "different"
        assert session.snapshot().answers[-1].who == "ana"
        with pytest.raises(ValueError, match="was declined"):
            propose_merge(session, (second, first), "agent y")
        rows = np.flatnonzero(session.labels_ == first)[:4].tolist()
        split = propose_split(session, first, rows, "agent x")
        decide(session, split.id, False)
        assert session.snapshot().answers[-1].said == "same"
        with pytest.raises(ValueError, match="was declined"):
            propose_split(session, first, rows, "agent x")
        with pytest.raises(ValueError, match="no open proposal"):
            decide(session, split.id, True)
        with pytest.raises(ValueError, match="there is no cluster 9"):
            propose_merge(session, (first, 9), "agent x")
        accepted = propose_split(
            session, second, np.flatnonzero(session.labels_ == second)[:3].tolist(), "y"
        )
        decide(session, accepted.id, True)
        assert len(np.unique(session.labels_)) == 4


def test_an_agent_works_over_stdio(tmp_path):
    mcp = pytest.importorskip("mcp")
    import asyncio

    from typer.testing import CliRunner

    from linkwise.cli import app

    data, path = tmp_path / "tickets.csv", tmp_path / "work.db"
    lines = [f"{text},{a:.3f},{b:.3f}" for text, (a, b) in zip(RECORDS, X, strict=True)]
    data.write_text("\n".join(["text,a,b", *lines]))
    options = ["label", str(data), "--features", "a,b", "-k", "3", "--session", str(path)]
    assert CliRunner().invoke(app, options, input="q\n").exit_code == 0

    async def work():
        command = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "linkwise", "mcp", str(path)], env=dict(os.environ)
        )
        info = mcp.types.Implementation(name="tester", version="1")
        async with mcp.Client(command, client_info=info) as client:

            async def call(tool, **arguments):
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result
                return (result.structured_content or {}).get("result")

            clusters = await call("clusters")
            assert sum(one["n_records"] for one in clusters) == len(RECORDS)
            records = await call("records", cluster=clusters[0]["cluster"], n=5)
            assert records[0]["record"]["text"] in RECORDS
            await call("next_question")
            assert await call("answer", i=0, j=1, answer="different") == "stored"
            assert "contradicts" in await call("answer", i=1, j=0, answer="same")
            assert "open" in await call("propose_merge", cluster=0, other=1)
            assert [one["who"] for one in await call("proposals")] == ["agent tester"]
            assert "1" in await call("undo")
            assert "1 answers" in await call("undo", everything=True)
            assert await call("proposals") == []

    asyncio.run(work())
