"""The options of `linkwise cluster`: common ones, and those of the methods in the registry."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, TypeAlias, get_type_hints

import typer

from linkwise import _methods
from linkwise._methods import Method, Option

from . import _output as out
from ._auto import AUTO, Choice
from ._input import (
    Counts,
    Data,
    Encoding,
    FeatureNames,
    IdColumn,
    Impute,
    Missing,
    Reading,
    Sheet,
    Standardize,
    StopWords,
    TextColumn,
    TextEmbedding,
    column_names,
    counts_option,
    find_embedding,
    find_stop_words,
)
from ._write import CLUSTER, NAME, check_kind, check_target

Value: TypeAlias = str | int | float | bool | Path | list[float]
_NUMBERS = {"min_size", "max_size", "outliers"}  # options that are numbers, shares or lists
_KINDS = {"text": str, "integer": int, "number": float, "path": Path}


def _algorithm_help() -> str:
    names = ", ".join(method.short for method in _methods.METHODS)
    return f"{names}; see `linkwise algorithms`. If not given, it is chosen by what is known."


@dataclass(frozen=True)
class Request:
    """What the user asked for; the fields are the options that every method has.

    `method_options` are those of some methods only, as given.
    """

    data: Data
    clusters: Annotated[
        Counts | None,
        counts_option(
            "Number of clusters, or a range such as 5-40 to choose from; chosen if not given "
            "(recon and complete-link do without)."
        ),
    ] = None
    constraints: Annotated[
        Path | None,
        typer.Option(help="File of constraints: CSV, JSON lines, Parquet, Excel; .nwk is a tree."),
    ] = None
    algorithm: Annotated[str | None, typer.Option(help=_algorithm_help())] = None
    id_column: IdColumn = None
    label_column: Annotated[
        str | None,
        typer.Option(help="Column with the labels of some rows; empty or -1 is unknown."),
    ] = None
    together_column: Annotated[
        str | None,
        typer.Option(help="Column whose equal values belong together, such as a household."),
    ] = None
    apart_column: Annotated[
        str | None,
        typer.Option(help="Column whose equal values are in different clusters, such as a photo."),
    ] = None
    taxonomy_columns: Annotated[
        str | None,
        typer.Option(help="Columns of ranks, from coarse to fine, as a tree: order,family,genus."),
    ] = None
    features: FeatureNames = None
    text_column: TextColumn = None
    text_embedding: TextEmbedding = None
    stop_words: StopWords = None
    standardize: Standardize = False
    impute: Impute = None
    missing: Missing = None
    encoding: Encoding = None
    sheet: Sheet = None
    ignore_unknown: Annotated[
        bool,
        typer.Option("--ignore-unknown", help="Leave out constraints on rows that are not there."),
    ] = False
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File for the labels: .csv, .tsv, .xlsx, .parquet, .npy."
        ),
    ] = None
    append: Annotated[
        bool,
        typer.Option("--append", help="-o has the columns of the data too, then the clusters."),
    ] = False
    probabilities: Annotated[
        bool,
        typer.Option(help="Also write how probable the clusters of each row are."),
    ] = False
    report: Annotated[Path | None, typer.Option(help="File for an HTML report.")] = None
    save: Annotated[
        Path | None, typer.Option(help="File for the model, for linkwise predict: .linkwise.")
    ] = None
    continues: Annotated[
        Path | None,
        typer.Option(
            "--continue",
            help="A saved model whose cluster numbers and names go on, by the best overlap.",
        ),
    ] = None
    n_init: Annotated[int | None, typer.Option(help="Number of runs; the best is kept.", min=1)] = (
        None
    )
    max_iter: Annotated[
        int | None, typer.Option(help="Maximum iterations per run; 300 if not given.", min=1)
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.", min=0, max=2**32 - 1)] = 0
    column: Annotated[
        list[str] | None,
        typer.Option(help="Own column names in --constraints: i=person_1 (repeat for j, ...)."),
    ] = None
    explain: Annotated[
        bool, typer.Option("--explain", help="auto: show what was compared, with scores.")
    ] = False
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File for the state of the work; after an interruption the same command resumes "
            "from it (k-means methods)."
        ),
    ] = None
    memory_limit: Annotated[
        str | None,
        typer.Option(
            help="Read a Parquet or NPY file block by block and stay below this: 500MB, 2GB.",
            metavar="SIZE",
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(help="Work on this Dask cluster, such as tcp://host:8786.", metavar="URL"),
    ] = None
    as_json: out.Json = False
    method_options: dict[str, Value] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse options that do not go together, before any file is read."""
        for option in self.own_options:
            _check_option(self.method, option, self.own_options[option])
        earlier = [self.data, self.constraints]
        for flag, path in self._targets.items():
            check_target(path, flag, earlier)
            earlier.append(path)
        check_kind(self.output)
        if self.probabilities and self.method.short != AUTO and not has_probabilities(self.method):
            raise ValueError(
                f"--probabilities: {self.method.short} has none; use mixture, hdbscan or a method "
                "of the k-means family"
            )
        for flag in ("probabilities", "append"):
            if getattr(self, flag) and (self.output is None or self.output.suffix == ".npy"):
                raise ValueError(f"--{flag} needs -o with a .csv, .tsv, .xlsx or .parquet file")
        if self.append and (self.memory_limit is not None or self.scheduler is not None):
            raise ValueError(
                "--append is for data in memory, not for --memory-limit or --scheduler; join the "
                "labels by id instead"
            )
        find_stop_words(self.stop_words, self.text_column)
        find_embedding(self.text_embedding, self.text_column, self.stop_words)
        if self.id_column in (CLUSTER, NAME) and self.output is not None:
            raise ValueError(
                f"--id-column {self.id_column}: a column of the result has this name too; "
                "rename yours"
            )

    @property
    def _targets(self) -> dict[str, Path | None]:
        """Files to write, by option."""
        own = {"-o": self.output, "--report": self.report, "--suspects": self.suspects}
        own["--save"] = self.save
        return {**own, **self.tree_files}

    @cached_property
    def choice(self) -> Choice:
        """What is left to be chosen."""
        return Choice.of(self.algorithm, self.clusters, self.explain)

    @property
    def names_no_method(self) -> bool:
        """Whether the number of clusters is given, and nothing about the method."""
        return self.algorithm is None and not self.choice.open

    @property
    def options_of_some(self) -> list[str]:
        """The options given that not all methods have: with them, the method is not chosen."""
        given = {
            "--n-init": self.n_init is not None,
            "--max-iter": self.max_iter is not None,
            "--checkpoint": self.checkpoint is not None,
            "--probabilities": self.probabilities,
        }
        own = ["--" + name.replace("_", "-") for name in self.own_options]
        return [flag for flag, is_given in given.items() if is_given] + own

    @property
    def reading(self) -> Reading:
        """How the data is to be read."""
        return Reading(tuple(self.missing or ()), self.encoding, self.sheet)

    @property
    def group_columns(self) -> dict[str, str]:
        """Columns of groups that are together or apart."""
        given = {"together": self.together_column, "apart": self.apart_column}
        given["taxonomy"] = self.taxonomy_columns
        return {name: column for name, column in given.items() if column is not None}

    @property
    def no_features(self) -> list[str]:
        """Columns that hold groups or ranks."""
        ranks = column_names(self.taxonomy_columns or "-", "--taxonomy-columns")
        groups = [
            self.together_column,
            self.apart_column,
            *(ranks if self.taxonomy_columns else []),
        ]
        return [name for name in groups if name is not None]

    @property
    def method(self) -> Method:
        """The method to use."""
        return self.choice.method

    @property
    def k(self) -> int | None:
        """Number of clusters to check the data against."""
        if self.clusters is None:
            return 1 if self.choice.open else None
        return self.clusters.least

    @property
    def own_options(self) -> dict[str, Value]:
        """Options of methods that were given; False is a flag that was not."""
        return {
            name: value
            for name, value in self.method_options.items()
            if value is not None and value is not False
        }

    @property
    def tree_files(self) -> dict[str, Path | None]:
        """Files to write a hierarchy to, by option."""
        given = {f"--{name}": self.own_options.get(name) for name in ("newick", "dendrogram")}
        return {flag: path if isinstance(path, Path) else None for flag, path in given.items()}

    @property
    def suspects(self) -> Path | None:
        """File to write the links to that are probably wrong."""
        path = self.own_options.get("suspects")
        return path if isinstance(path, Path) else None

    @property
    def noise(self) -> str | float | None:
        """The noise model; --suspects needs one."""
        given = self.own_options.get("noise", None if self.suspects is None else "auto")
        if given in (None, "none", "auto"):
            return "auto" if given == "auto" else None
        try:
            return float(given)  # type: ignore[arg-type]
        except ValueError:
            raise ValueError(
                f"--noise {given}: expected auto, a number below 0.5, or none"
            ) from None

    @property
    def parameters(self) -> dict[str, Value]:
        """Parameters of the estimator; `base` by name."""
        files = {name for name, used in _methods.options().items() if used[0][1].kind == "path"}
        own = {n: value for n, value in self.own_options.items() if n not in {"tag", *files}}
        if self.checkpoint is not None:
            own["checkpoint"] = self.checkpoint
        own.pop("noise", None)
        if self.noise is not None:
            own["noise"] = self.noise
        for name in _NUMBERS.intersection(own):
            own[name] = _numbers(name, str(own[name]))
        return {**own, "random_state": self.seed}

    @property
    def tag(self) -> str | None:
        """The label of the known cluster."""
        given = self.own_options.get("tag")
        return None if given is None else str(given)

    @property
    def runs(self) -> dict[str, int | None]:
        """How often and how long to iterate; None where not asked for."""
        return {"n_init": self.n_init, "max_iter": self.max_iter}


def _numbers(name: str, given: str) -> Value:
    """A number, a share, several of them, or "auto" for outliers."""
    if name == "outliers" and given.strip() == "auto":
        return "auto"
    try:
        found = [_number(part) for part in given.split(",")]
    except ValueError:
        wanted = 'a number, a share or "auto"' if name == "outliers" else "numbers or shares"
        flag = "--" + name.replace("_", "-")
        raise ValueError(f"{flag} {given}: expected {wanted}") from None
    return found[0] if len(found) == 1 else found


def _number(text: str) -> float:
    """A whole number as an integer, as it counts rows; a percentage as a share."""
    text = text.strip()
    if text.endswith("%"):
        return float(text[:-1]) / 100
    return float(text) if "." in text or "e" in text.lower() else int(text)


def _check_option(method: Method, name: str, value: Value) -> None:
    """Refuse options of other methods, and values that are none of the choices."""
    option = method.option(name)
    if option is None:
        owners = _methods.options()[name]
        listed = ", ".join(owner.short for owner, _ in owners)
        raise ValueError(f"{owners[0][1].flag} is an option of {listed}, not of {method.short}")
    if option.choices and value not in option.choices:
        raise ValueError(f"{option.flag} {value}: expected one of {', '.join(option.choices)}")


def has_probabilities(method: Method) -> bool:
    """Whether a method says how probable clusters are."""
    return hasattr(method.estimator, "predict_proba") or method.family in ("mixture", "density")


def as_command(run: Callable[[Request], None]) -> Callable[..., None]:
    """A function with one parameter per option, which typer can read, around `run`."""
    common = {own.name for own in fields(Request)} - {"method_options"}

    def command(**given: Value) -> None:
        own = {name: value for name, value in given.items() if name not in common}
        rest = {name: value for name, value in given.items() if name in common}
        run(Request(**rest, method_options=own))  # type: ignore[arg-type]

    hints = get_type_hints(Request, include_extras=True)
    found = [
        own.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, own in inspect.signature(Request).parameters.items()
        if name in common
    ]
    at = next(place for place, own in enumerate(found) if own.name == "n_init")
    found[at:at] = [_parameter(name, used) for name, used in _methods.options().items()]
    command.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
    command.__annotations__ = {own.name: own.annotation for own in found}
    command.__doc__, command.__name__ = run.__doc__, run.__name__
    return command


def _parameter(name: str, used: list[tuple[Method, Option]]) -> inspect.Parameter:
    """An option that several methods may have, as a parameter of a function."""
    helps: dict[str, list[str]] = {}
    for method, option in used:
        text = f"{option.help}: {' | '.join(option.choices)}" if name == "base" else option.help
        helps.setdefault(text, []).append(method.short)
    text = "; ".join(f"{', '.join(owners)}: {about}" for about, owners in helps.items()) + "."
    option, default = used[0][1], None
    if option.kind == "flag":
        annotation, default = Annotated[bool, typer.Option(option.flag, help=text)], False
    else:
        metavar = "|".join(option.choices) if option.choices and name != "base" else None
        kind = _KINDS[option.kind] | None
        info = typer.Option(option.flag, help=text, metavar=metavar, min=option.least)
        annotation = Annotated[kind, info]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
