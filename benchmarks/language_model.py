"""Language models: intervals of error rates, kills, speed, and what errors cost.

    python -m benchmarks.language_model rates|kills|speed|errors

A stand-in server (`tests/llm/stand_in.py`) answers by labels over HTTP, with set errors. The data
are CLINC150 and MASSIVE (texts), from the folder that LINKWISE_DATA names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.llm.cases import texts
from tests.llm.stand_in import StandIn

from linkwise import PCKMeans, Session
from linkwise.evaluation import score
from linkwise.llm import ChatOracle, answer_cards, audit_sample, weighted_links
from linkwise.llm._replies import Replies

DATA = Path(os.environ.get("LINKWISE_DATA", "/work/shared/datasets")) / "many"
GOAL = "have the same intent"


def load(name: str, n: int, seed: int = 0):
    """A sample of rows: X, classes, one text per row."""
    file = np.load(DATA / f"{name}.npz", allow_pickle=True)
    rows = np.sort(np.random.default_rng(seed).permutation(len(file["y"]))[:n])
    y = np.unique(file["y"][rows], return_inverse=True)[1]
    records = [f"{text} ({row})" for row, text in enumerate(file["text"][rows])]
    return file["X"][rows].astype(float), y, records


def oracle_of(server: StandIn, records: list[str], **options) -> ChatOracle:
    return ChatOracle("stand-in", records=records, goal=GOAL, base_url=server.url, **options)


def rates(biases: tuple[float, ...] = (0.0, 0.1)) -> None:
    """Coverage of the 90 % intervals: 20 draws with and without position bias."""
    for bias in biases:
        held, widths = np.zeros(2), []
        for draw in range(20):
            rng = np.random.default_rng(draw)
            X, y, records = load("massive_scenario", 1000, draw)
            set_rates = rng.uniform(0.02, 0.3, 2)
            truth = set_rates * (1 - bias) + bias / 2
            labels = dict(zip(records, y.tolist(), strict=True))
            server = StandIn(
                labels, false_same=set_rates[0], false_different=set_rates[1], bias=bias, seed=draw
            )
            with server, Session(X, "RandomPairs", refit_every=None, background=False) as session:
                oracle = oracle_of(server, records)
                for row in rng.permutation(1000)[:400].tolist():
                    near = np.argsort(((X - X[row]) ** 2).sum(axis=1))[1:31]
                    pair = (row, int(rng.choice(near)))
                    session.tell(oracle(*pair), pair, who=oracle.model)
                for answer in audit_sample(session, oracle.model):
                    same = y[answer.i] == y[answer.j]
                    session.tell("same" if same else "different", answer.question, who="person")
                found = oracle.error_rates(session)
            for kind, rate in enumerate((found.false_same, found.false_different)):
                held[kind] += rate.low <= truth[kind] <= rate.high
                widths.append(rate.high - rate.low)
        print(
            f"| {bias} | {held[0]:.0f} of 20 | {held[1]:.0f} of 20 | {np.mean(widths):.2f} |",
            flush=True,
        )


def kills(times: int = 50) -> None:
    """SIGKILL at random calls: replies lost, and paid twice."""
    _, _, labels = texts(120, 4)
    rng = np.random.default_rng(0)
    delivered, repeated, stored = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for series in range(times // 10):
            path = Path(folder) / f"{series}.db"
            with StandIn(labels, delay=0.02, seed=series) as server:
                command = [sys.executable, "-m", "tests.llm.kill", str(path), server.url, "60"]
                for _ in range(10):
                    run = subprocess.Popen(command, stdout=subprocess.PIPE)
                    run.stdout.readline()
                    time.sleep(rng.uniform(0, 0.2))
                    run.kill()
                    run.communicate()
                replies = Replies(path)
                stored += replies.spending().get("tiny", (0,))[0]
                delivered += len(server.delivered)
                repeated += sum(n - 1 for n in server.delivered.values())
    print(
        f"{times} kills: {delivered} requests answered, {stored} stored, {repeated} answered twice",
        flush=True,
    )


def speed() -> None:
    """500 calls of 1 s, 8 at a time, with the questions of Repair on CLINC150."""
    X, y, records = load("clinc150", 4500)
    labels = dict(zip(records, y.tolist(), strict=True))
    with StandIn(labels, delay=1.0) as server, Session(X, refit_every=None) as session:
        oracle = oracle_of(server, records, both_orders=0.0)
        session.ask(set_size=8)  # the parts of the data are computed once
        started = time.perf_counter()
        answer_cards(session, oracle, 500)
        seconds = time.perf_counter() - started
        print(f"{server.n_calls} calls: {seconds:.0f} s, load {os.getloadavg()[0]:.0f}", flush=True)


SETS = (("clinc150", 4500), ("massive_scenario", 3000))


def errors(
    sets: tuple[tuple[str, int], ...] = SETS, shares: tuple = ((0.0, 0.0), (0.05, 0.2))
) -> None:
    """500 cards with right answers, and with 5 % false "same" and 20 % false "different"."""
    for name, n in sets:
        X, y, records = load(name, n)
        labels, k = dict(zip(records, y.tolist(), strict=True)), len(np.unique(y))
        for false_same, false_different in shares:
            server = StandIn(labels, false_same=false_same, false_different=false_different)
            with server, Session(X, refit_every=None, background=False) as session:
                oracle = oracle_of(server, records)
                answer_cards(session, oracle, 500)
                for answer in audit_sample(session, oracle.model):
                    same = y[answer.i] == y[answer.j]
                    session.tell("same" if same else "different", answer.question, who="person")
                found = oracle.error_rates(session)
                links = weighted_links(session, {oracle.model: found})
                as_right = weighted_links(session, {})  # every answer weighs 1
                scores = [
                    score(y, one).ari
                    for one in (
                        session.refit().labels,
                        PCKMeans(k, noise="auto", random_state=0).fit(X, constraints=links).labels_,
                        PCKMeans(k, random_state=0).fit(X, constraints=as_right).labels_,
                    )
                ]
                cells = [
                    name,
                    false_same,
                    false_different,
                    *(f"{one:.3f}" for one in scores),
                    found,
                ]
                print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    for part in sys.argv[1:]:
        {"rates": rates, "kills": kills, "speed": speed, "errors": errors}[part]()
