"""Answers cards until it is killed: ``python -m tests.llm.kill PATH URL N``."""

from __future__ import annotations

import sys

from linkwise.llm import answer_cards

from .cases import oracle_of, session_of, texts


class Server:
    """The address of a server in another process."""

    def __init__(self, url: str):
        self.url = url


def main(path: str, url: str, n: int) -> None:
    X, records, _ = texts(120, 4)
    with session_of(X, path) as session:
        oracle = oracle_of(Server(url), records, replies=path, parallel=4)
        answer_cards(session, oracle, n, size=4, progress=lambda _: print("told", flush=True))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
