"""Wrong command lines that people type, and the line to type instead."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer
from typer.core import TyperCommand

# Options of other programs and of earlier versions, and what to type; {} is the value.
_OPTIONS = {
    **dict.fromkeys(("--n-clusters", "--num-clusters", "--k"), "-k {}"),
    **dict.fromkeys(("--pairs", "--links", "--known", "--must-link"), "--constraints {}"),
    **dict.fromkeys(("--labels", "--label", "--y"), "--label-column {}"),
    **dict.fromkeys(("--columns", "--feature", "--cols"), "--features {}"),
    **dict.fromkeys(("--id", "--ids", "--index", "--index-column"), "--id-column {}"),
    **dict.fromkeys(("--text", "--texts"), "--text-column {}"),
    **dict.fromkeys(("--out", "--output-file", "--to"), "-o {}"),
    **dict.fromkeys(("--random-state", "--random-seed"), "--seed {}"),
    **dict.fromkeys(("--method", "--model"), "--algorithm {}"),
    **dict.fromkeys(("--input", "--file", "--csv"), "{}"),
    **dict.fromkeys(("--standardize", "--scale", "--normalize", "--auto"), ""),  # the default
    # Parameters of methods; without --algorithm they are chosen.
    **{f"--{name}": f"--set {name.replace('-', '_')}={{}}" for name in
       ("n-init", "max-iter", "tol", "init", "metric", "w")},
}  # fmt: skip
_SWITCHES = ("--standardize", "--scale", "--normalize", "--auto")  # have no value
_LISTS = ("--features", "--text-column", "--taxonomy-columns")  # names between commas
_CHOSEN = ("auto", "?", "none")  # for -k: the number is chosen if it is absent

# Names of other methods, and what to type instead.
ALGORITHMS = {
    "kmeans": "type --algorithm pck, which is plain k-means without --constraints",
    "dbscan": "type --algorithm hdbscan, the method by density",
    "gmm": "type --algorithm mixture, the method with Gaussians",
    "agglomerative": "type --algorithm complete-link or recon, the hierarchical methods",
}


class Command(TyperCommand):
    """A command whose errors about options end in the line to type."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse the arguments; see `instead`."""
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # of click, or of typer's copy of it
            flags = {flag for option in self.params for flag in option.opts}
            line = instead(str(self.name), typed, flags)
            if hasattr(error, "message") and line is not None:
                error.message = f"{error.message}; type: {line}"
                error.possibilities = None  # type: ignore[attr-defined]  # of NoSuchOption
            raise


def instead(command: str, typed: list[str], flags: set[str]) -> str | None:
    """The line to type for a wrong one; None if it is not known."""
    words: list[str] = []
    rest = [part for word in typed for part in _split(word)]
    while rest:
        words += _replaced(rest, flags, "--algorithm" in typed)
    words = _files_in_place(command, words)
    return None if words == typed else shlex.join(["linkwise", command, *words])


def _replaced(rest: list[str], flags: set[str], has_algorithm: bool) -> list[str]:
    """The first of the remaining words with its values, removed from `rest`, as it should be."""
    word = rest.pop(0)
    if word in ("-k", "--clusters") and rest and rest[0].lower() in _CHOSEN:
        rest.pop(0)
        return []
    if word in _LISTS and rest:
        names = [rest.pop(0)]
        while rest and not rest[0].startswith("-") and not Path(rest[0]).exists():
            names.append(rest.pop(0))
        return [word, ",".join(name.strip(",") for name in names)]
    if word not in _OPTIONS or word in flags:
        return [word]
    value = rest.pop(0) if rest and word not in _SWITCHES else ""
    if "--set" in _OPTIONS[word] and not has_algorithm:
        return []
    return [part.format(value) for part in _OPTIONS[word].split()]


def _split(word: str) -> list[str]:
    """``--name=value`` as two words."""
    name, equals, value = word.partition("=")
    return [name, value] if equals and name in _OPTIONS else [word]


def _files_in_place(command: str, words: list[str]) -> list[str]:
    """Data and constraints, both as arguments: one of them needs its option."""
    if command == "check" and "--constraints" in words[:-1]:
        at = words.index("--constraints")
        data = ["--data", words[0]] if at > 0 and "--data" not in words else words[:1]
        return [words[at + 1], *data, *words[1:at], *words[at + 2 :]]
    are_files = len(words) > 1 and not any(word.startswith("-") for word in words[:2])
    if command == "cluster" and are_files and "--constraints" not in words:
        return [words[0], "--constraints", *words[1:]]
    if command == "check" and are_files and "--data" not in words:
        return [words[1], "--data", words[0], *words[2:]]
    return words
