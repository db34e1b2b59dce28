"""`linkwise label --model`, `--audit`, `--take-back`, and what `linkwise sessions` shows."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from linkwise.cli import app

from .cases import GOAL, texts
from .stand_in import StandIn

X, RECORDS, LABELS = texts()


def run(*arguments, keys=None):
    result = CliRunner().invoke(app, [str(one) for one in arguments], input=keys)
    return result.exit_code, result.output


def test_a_model_answers_a_person_checks(tmp_path):
    data, path = tmp_path / "tickets.csv", tmp_path / "work.db"
    lines = [f"{text},{a:.3f},{b:.3f}" for text, (a, b) in zip(RECORDS, X, strict=True)]
    data.write_text("\n".join(["text,a,b", *lines]))
    label = ["label", data, "--features", "a,b", "--show", "text", "-k", "3", "--session", path]
    with StandIn(LABELS) as server:
        model = ["--model", "tiny", "--base-url", server.url]
        code, shown = run(*label, *model)
        assert code == 2
        assert "--model needs --goal" in shown
        model += ["--goal", GOAL, "--max-cost", "1", "--price", "1,2", "--name-clusters"]
        code, shown = run(*label, *model)
        assert code == 0, shown
        assert "9 cards of 8 records: 10 calls" in shown
        assert "the model errs on" in shown
        assert "kind 0 (1.00)" in shown
        n_calls = server.n_calls
        assert run(*label, *model)[0] == 0  # continues; nothing is paid again
        spent = json.loads(run("sessions", path, "--json")[1])[0]
        assert spent["costs"]["tiny"]["calls"] == server.n_calls >= n_calls
        assert set(spent["people"]) == {"tiny"}
        assert "kind 1 (1.00)" in spent["names"].values()
        code, shown = run(
            *label[:2], "--session", path, "--audit", "--who", "ana", keys="s\nd\nq\n"
        )
        assert code == 0, shown
        assert "answers of the model taken back" in shown
        code, shown = run(*label[:2], "--session", path, "--take-back", "tiny")
        assert code == 0, shown
        people = json.loads(run("sessions", path, "--json")[1])[0]["people"]
        assert people == {"ana": {"same": 1, "different": 1, "unsure": 0}}
        shown = run("sessions", path)[1]
        assert "cost of tiny" in shown
