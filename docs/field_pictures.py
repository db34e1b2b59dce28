"""Pictures of "The field in six pictures" and of "How each method works".

`make_pictures.py` draws them with the others, in both themes. Clusters of named methods are results
of fits, and curves come from docs/results.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

import linkwise as lw
from linkwise import Constraints
from linkwise.evaluation import score

RESULTS = Path(__file__).parent / "results"
MARKS = ("o", "s", "^", "D")
DOTTED = (0, (1.2, 1.6))


def _colors(theme: Any) -> tuple[str, ...]:
    return (theme.blue, theme.orange, theme.green, theme.red)


def _rows(axes: Any, X: Any, labels: Any, theme: Any, size: float = 30, like: Any = None) -> None:
    """Points in the colors (and shapes) of their clusters."""
    labels = _matched(labels, labels if like is None else like)
    for cluster in np.unique(labels):
        at = labels == cluster
        color = theme.soft if cluster < 0 else _colors(theme)[cluster % 4]
        mark = "x" if cluster < 0 else MARKS[cluster % 4]
        axes.scatter(*X[at].T, s=size, c=color, marker=mark, lw=1 if cluster < 0 else 0, alpha=0.85)


def _matched(labels: Any, like: Any) -> Any:
    """Labels renamed so that most rows have the number that they have in `like`."""
    from scipy.optimize import linear_sum_assignment

    labels, like = np.asarray(labels), np.asarray(like)
    names = np.unique(labels[labels >= 0])
    table = np.array([[np.sum((labels == a) & (like == b)) for b in range(4)] for a in names])
    new = labels.copy()
    for row, column in zip(*linear_sum_assignment(-table), strict=True):
        new[labels == names[row]] = column
    return new


def _plain(axes: Any, title: str, below: str = "", size: float = 13) -> None:
    axes.set_title(title, size=size, loc="left", weight="bold")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    if below:
        axes.set_xlabel(below, size=size - 1, loc="left")


def _line(axes: Any, one: Any, two: Any, color: str, style: Any = "-", width: float = 2.4) -> None:
    axes.plot(*np.array([one, two]).T, color=color, ls=style, lw=width, zorder=4)


def _links(axes: Any, X: Any, known: Constraints, theme: Any, width: float = 1.2) -> None:
    for i, j in known.must_link:
        _line(axes, X[i], X[j], theme.ink, "-", width)
    for i, j in known.cannot_link:
        _line(axes, X[i], X[j], theme.ink, DOTTED, width)


# -------------------------------------------------------------------- the six pictures


def _hexagon(n: int = 14) -> tuple[Any, Any]:
    """Six groups of rows on a circle, all of the same shape up to rotation."""
    rng = np.random.default_rng(3)
    around = rng.normal(0, 0.17, (n, 2)) * np.array([1.0, 1.0])
    rows = []
    for place in range(6):
        angle = place * np.pi / 3
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        rows.append((around + np.array([1.4, 0])) @ turn.T)
    return np.concatenate(rows), np.repeat(np.arange(6), n)


def _middle(X: Any, rows: Any) -> int:
    """The row nearest to the mean of some rows."""
    return int(rows[np.linalg.norm(X[rows] - X[rows].mean(axis=0), axis=1).argmin()])


def _halves(start: int, group: Any) -> Any:
    return np.isin(group, [(start + step) % 6 for step in range(3)]).astype(int)


def draw_field_groupings(theme: Any) -> Figure:
    """One scatter, three groupings with the same sum of squares."""
    X, group = _hexagon()
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    for start, axes in enumerate(figure.subplots(1, 3)):
        labels = _halves(start, group)
        inertia = sum(X[labels == c].var(axis=0).sum() * (labels == c).sum() for c in (0, 1))
        _rows(axes, X, labels, theme)
        _plain(axes, f"grouping {start + 1}", f"sum of squares {inertia:.1f}")
        axes.set_aspect("equal")
    return figure


def draw_field_kinds(theme: Any) -> Figure:
    """Six kinds of knowledge about the same rows."""
    X, group = _hexagon()
    figure = Figure(figsize=(8.4, 6.4), layout="constrained")
    figure.get_layout_engine().set(hspace=0.12)
    panels = figure.subplots(2, 3).ravel()
    titles = ("labels", "must-link", "cannot-link", "triplet", "groups", "weights")
    belows = (
        "two rows are A, two are B", "these two: together", "these two: apart",
        "a is closer to b than to c", "all in a ring: together", "surer: thicker",
    )  # fmt: skip
    for axes, title, below in zip(panels, titles, belows, strict=True):
        axes.scatter(*X.T, s=22, c=theme.soft, alpha=0.6, lw=0)
        _plain(axes, title, below)
        axes.set(xlim=(-2, 2), ylim=(-2, 2))
    first = [_middle(X, np.flatnonzero(group == place)) for place in range(6)]
    for place, name in ((0, "A"), (1, "A"), (3, "B"), (4, "B")):
        color = theme.blue if name == "A" else theme.orange
        panels[0].scatter(*X[first[place]], s=230, c=color, lw=0, zorder=4)
        panels[0].text(
            *X[first[place]], name, ha="center", va="center", size=12, weight="bold",
            color="white" if theme.name == "light" else "#14181e", zorder=5,
        )  # fmt: skip
    _line(panels[1], X[first[0]], X[first[1]], theme.blue)
    _line(panels[2], X[first[1]], X[first[2]], theme.red, DOTTED, 3)
    for here, name in ((first[0], "a"), (first[1], "b"), (first[4], "c")):
        panels[3].scatter(*X[here], s=60, c=theme.green, lw=0, zorder=5)
        panels[3].annotate(
            name, X[here], (8, 6), textcoords="offset points", size=14, style="italic",
            weight="bold", color=theme.green,
        )  # fmt: skip
    _line(panels[3], X[first[0]], X[first[1]], theme.green)
    _line(panels[3], X[first[0]], X[first[4]], theme.soft, (0, (3, 3)), 1.6)
    for place, color in ((0, theme.blue), (3, theme.orange)):
        middle = X[(group == place) | (group == (place + 1) % 6)].mean(axis=0)
        angle = np.degrees(np.arctan2(*np.diff(
            [X[group == place].mean(axis=0), X[group == (place + 1) % 6].mean(axis=0)], axis=0
        )[0][::-1]))  # fmt: skip
        panels[4].add_patch(Ellipse(middle, 2.5, 1.15, angle=angle, fill=False, ec=color, lw=2.2))
    _line(panels[5], X[first[0]], X[first[1]], theme.blue, width=4.5)
    _line(panels[5], X[first[3]], X[first[4]], theme.blue, width=1.2)
    _line(panels[5], X[first[1]], X[first[2]], theme.red, DOTTED, 4.5)
    return figure


def draw_field_closure(theme: Any) -> Figure:
    """What follows from three links, and a contradiction with its proof."""
    place = {"a": (0, 0), "b": (1, 1), "c": (2, 1), "d": (3, 0)}
    given = Constraints(must_link=[("a", "b"), ("b", "c")], cannot_link=[("c", "d")])
    bad = Constraints(must_link=[("a", "b"), ("b", "c")], cannot_link=[("c", "d"), ("a", "c")])
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    titles = ("three links are given", "six pairs are decided", "a fourth link contradicts")
    belows = (
        "solid: together, dotted: apart",
        "gray ones follow",
        "a - b - c together, a, c apart",
    )
    for axes, title, below in zip(figure.subplots(1, 3), titles, belows, strict=True):
        known = bad if title.startswith("a fourth") else given
        if title.startswith("six"):
            closure = given.closure()
            for i, j in (("a", "c"), ("a", "d"), ("b", "d")):
                style = "-" if closure.relation(i, j) == "must" else DOTTED
                _line(axes, place[i], place[j], theme.soft, style, 2.4)
        wrong = {link.rows for c in known.diagnose().contradictions for link in c.links}
        for kind, links in (("must", known.must_link), ("cannot", known.cannot_link)):
            for i, j in links.tolist():
                color = theme.red if (i, j) in wrong else theme.blue
                _line(axes, place[i], place[j], color, "-" if kind == "must" else DOTTED, 3)
        for name, at in place.items():
            axes.scatter(*at, s=330, c=theme.panel, ec=theme.ink, lw=1.4, zorder=5)
            axes.text(*at, name, ha="center", va="center", size=14, style="italic", zorder=6)
        axes.set(xlim=(-0.4, 3.4), ylim=(-0.5, 1.5))
        _plain(axes, title, below, 12)
    return figure


def _wrong_link() -> tuple[Any, Any, Constraints]:
    """Two clouds, a group of linked rows in each, and a must-link between the two groups."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 40)
    X = np.column_stack([rng.normal(0, 1.1, 80), 2.6 * y + rng.normal(0, 0.35, 80)])
    low = np.argsort(X[:40, 0])[:6]
    high = 40 + np.argsort(-X[40:, 0])[:6]
    chains = [(int(a), int(b)) for rows in (low, high) for a, b in pairwise(rows)]
    right = Constraints(must_link=chains, cannot_link=[(0, 41), (2, 43), (5, 47)])
    return X, y, right + Constraints(must_link=[(int(low[5]), int(high[5]))])


def draw_field_wrong(theme: Any) -> Figure:
    """Hard, soft and learned metric under the same wrong link."""
    X, y, known = _wrong_link()
    wrong = known.must_link[-1]
    methods = {
        "hard: COPKMeans": lw.COPKMeans(2, n_init=10, random_state=0),
        "soft: PCKMeans": lw.PCKMeans(2, penalty="weight", n_init=10, random_state=0),
        "learned: MPCKMeans": lw.MPCKMeans(2, n_init=10, random_state=0),
    }
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    for axes, (title, model) in zip(figure.subplots(1, 3), methods.items(), strict=True):
        labels = model.fit(X, constraints=known).labels_
        _rows(axes, X, labels, theme, 22, like=y)
        kept = labels[wrong[0]] == labels[wrong[1]]
        _links(axes, X, known, theme, 1.0)
        _line(axes, X[wrong[0]], X[wrong[1]], theme.red, "-", 3)
        off = int((_matched(labels, y) != y).sum())
        _plain(
            axes, title,
            f"wrong link {'satisfied' if kept else 'violated'}\nrows in the wrong cluster: {off}",
        )  # fmt: skip
    return figure


def beans() -> tuple[Any, Any]:
    """Three origins that differ in acidity, whatever their roast; standardized."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = np.column_stack([4 + y + rng.normal(0, 0.28, 180), rng.uniform(1, 9, 180)])
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def draw_field_loop(theme: Any) -> Figure:
    """Question, answer, refit: after 0, 10 and 50 answers."""
    X, y = beans()
    figure = Figure(figsize=(8.4, 3.9), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    with lw.Session(X, n_clusters=3, random_state=0, background=False) as session:
        for axes, number in zip(panels, (0, 10, 50), strict=True):
            session.run(
                lambda i, j: "same" if y[i] == y[j] else "different",
                number - len(session.snapshot().answers),
            )
            labels = session.refit().labels
            _rows(axes, X, labels, theme, 20, like=y)
            _links(axes, X, session.constraints, theme)
            ari = score(y, labels).ari
            _plain(axes, f"{number} answers", f"agreement (ARI) {ari:.2f}")
    return figure


def draw_field_gain(theme: Any) -> Figure:
    """ARI by answers, from docs/results/answers.json."""
    found = json.loads((RESULTS / "answers.json").read_text(encoding="utf-8"))
    sets = found["ari"].values()
    numbers = found["numbers"]
    plain = float(np.mean([one["k-means"] for one in sets]))
    looks = {
        "chosen": ("chosen questions", theme.blue, "o", "-"),
        "random": ("random pairs", theme.green, "s", "-"),
        "wrong, noise": ('20 % wrong, noise="auto"', theme.orange, "D", "--"),
        "wrong": ("20 % wrong", theme.red, "^", "-"),
    }
    figure = Figure(figsize=(7.4, 4.4), layout="constrained")
    axes = figure.subplots()
    top = 1.02
    axes.axhspan(plain, top, color=theme.green, alpha=0.07, lw=0)
    axes.axhspan(0.25, plain, color=theme.red, alpha=0.07, lw=0)
    axes.axhline(plain, color=theme.ink, lw=1.2, ls="--")
    for way, (name, color, mark, style) in looks.items():
        draws = np.array([one[way] for one in sets])
        means = draws.mean(axis=(0, 1))
        error = draws.mean(axis=0).std(axis=0, ddof=1) / np.sqrt(draws.shape[1])
        place = np.arange(len(numbers))
        axes.errorbar(
            place, means, error, color=color, marker=mark, ls=style, lw=2.2, ms=6, capsize=3
        )
        aside = {"chosen": 7, "random": -7}.get(way, 0)
        axes.annotate(
            name, (place[-1], means[-1]), (9, aside), textcoords="offset points", color=color,
            va="center", size=12, weight="bold",
        )  # fmt: skip
    axes.text(0.02, plain + 0.02, "helps", size=12, transform=axes.get_yaxis_transform())
    axes.text(0.02, plain - 0.06, "hurts (below k-means)", size=12,
              transform=axes.get_yaxis_transform())  # fmt: skip
    axes.set_xticks(np.arange(len(numbers)), [str(number) for number in numbers])
    axes.set(xlim=(-0.3, len(numbers) + 1.9), ylim=(0.25, top))
    axes.set_xlabel("answers", size=12, loc="left")
    axes.set_ylabel("agreement with the classes (ARI)", size=12)
    axes.tick_params(labelsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_demo(theme: Any) -> Figure:
    """The sample of ``linkwise demo``: shape = origin, color = cluster, lines = answers."""
    X, y, known = _sample()
    plain = KMeans(3, n_init=10, random_state=0).fit(X).labels_
    model = lw.AutoCluster(random_state=0).fit(X, constraints=known)
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    runs = (("k-means", plain, None), ("linkwise, 40 answers", model.labels_, known))
    for axes, (title, labels, links) in zip(figure.subplots(1, 2), runs, strict=True):
        found = _matched(labels, y)
        for origin in range(3):
            for cluster in range(3):
                at = (y == origin) & (found == cluster)
                axes.scatter(*X[at].T, s=44, c=_colors(theme)[cluster], marker=MARKS[origin], lw=0)
        if links is not None:
            _links(axes, X, links, theme, 1.0)
        _plain(axes, title, f"ARI {score(y, labels).ari:.2f}", 17)
    return figure


# -------------------------------------------------------------------- families of methods


def draw_family_kmeans(theme: Any) -> Figure:
    """One must-link across a gap: never violated, or violated if that is cheaper."""
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(0, 0.5, (20, 2)), rng.normal(0, 0.5, (20, 2)) + np.array([3, 0])])
    y = np.repeat([0, 1], 20)
    known = Constraints(must_link=[(int(X[:20, 0].argmin()), 20 + int(X[20:, 0].argmax()))])
    heavy = Constraints(must_link=[(*known.must_link[0].tolist(), 60)])
    runs = (
        ("COPKMeans", lw.COPKMeans(2, n_init=10, random_state=0), known, "satisfied, always"),
        ("PCKMeans, weight 1", lw.PCKMeans(2, n_init=10, random_state=0), known, "violated: 1"),
        ("PCKMeans, weight 60", lw.PCKMeans(2, n_init=10, random_state=0), heavy, "satisfied"),
    )
    figure = Figure(figsize=(8.4, 2.7), layout="constrained")
    for axes, (title, model, links, _) in zip(figure.subplots(1, 3), runs, strict=True):
        labels = model.fit(X, constraints=links).labels_
        _rows(axes, X, labels, theme, 24, like=y)
        i, j = links.must_link[0]
        kept = labels[i] == labels[j]
        _line(axes, X[i], X[j], theme.ink, "-" if kept else (0, (5, 3)), 2)
        _plain(axes, title, "satisfied" if kept else "violated", 12)
    return figure


def _sample() -> tuple[Any, Any, Constraints]:
    """The beans and tastings of ``linkwise demo``, standardized."""
    from importlib import resources

    from linkwise import read_table, table_features

    folder = resources.files("linkwise.datasets") / "sample"
    with resources.as_file(folder / "beans.csv") as path:
        table = read_table(path)
    with resources.as_file(folder / "tastings.csv") as path:
        known = Constraints.read(path)
    X = table_features(table, ["acidity", "roast"]).X
    return (
        X,
        np.unique(table.text("origin"), return_inverse=True)[1],
        known.to_rows(sample_ids=table.text("bean")),
    )


def draw_family_metric(theme: Any) -> Figure:
    """k-means and MPCK-Means, with the circle of equal distance."""
    X, y, known = _sample()
    plain = KMeans(3, n_init=10, random_state=0).fit(X)
    learned = lw.MPCKMeans(3, n_init=10, random_state=0).fit(X, constraints=known)
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    runs = (("k-means: all columns alike", plain, np.ones(2)),
            ("MPCKMeans: learned weights", learned, learned.metrics_))  # fmt: skip
    for axes, (title, model, weights) in zip(panels, runs, strict=True):
        _rows(axes, X, model.labels_, theme, 22, like=y)
        radii = 1 / np.sqrt(weights / np.exp(np.log(weights).mean()))  # of the same area
        for center in model.cluster_centers_:
            axes.add_patch(
                Ellipse(center, *(1.1 * radii), fill=False, ec=theme.ink, lw=1.8, zorder=5)
            )
        ari = score(y, model.labels_).ari
        _plain(axes, title, f"equal distance from a center; ARI {ari:.2f}", 12)
    return figure


def draw_family_propagation(theme: Any) -> Figure:
    """Two links and what GPK-Means infers from them nearby."""
    from linkwise import propagate

    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(0, 0.55, (30, 2)), rng.normal((2.6, 0.4), 0.55, (30, 2))])
    known = Constraints(cannot_link=[(0, 30)], must_link=[(1, 2)])
    labels = np.repeat([0, 1], 30)
    spread = propagate(known, X, labels, threshold=0.6)
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, links, title in zip(panels, (known, spread), ("given", "propagated"), strict=True):
        axes.scatter(*X.T, s=24, c=theme.soft, lw=0)
        for i, j in links.must_link:
            _line(axes, X[i], X[j], theme.blue, "-", 2.2 if links is known else 0.9)
        for i, j in links.cannot_link:
            _line(axes, X[i], X[j], theme.red, DOTTED, 2.6 if links is known else 0.9)
        n = links.n_constraints
        _plain(axes, title, f"{n} links" + ("" if links is known else ", weaker with distance"), 12)
    return figure


def draw_family_graph(theme: Any) -> Figure:
    """Two moons: k-means, and a graph of neighbors with links."""
    X, y = make_moons(240, noise=0.12, random_state=1)
    known = Constraints.from_labels(y, 20, random_state=0)
    runs = (
        ("PCKMeans", lw.PCKMeans(2, n_init=10, random_state=0)),
        ("SpectralLearning", lw.SpectralLearning(2, random_state=0)),
    )
    return _two(theme, X, y, known, runs)


def draw_family_density(theme: Any) -> Figure:
    """Noisy moons: density alone, and with links; crosses are noise."""
    X, y = make_moons(300, noise=0.15, random_state=0)
    known = Constraints.from_labels(y, 60, random_state=0)
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, links in zip(panels, (None, known), strict=True):
        model = lw.ConstrainedHDBSCAN(10, min_samples=5).fit(X, constraints=links)
        _rows(axes, X, model.labels_, theme, 20, like=y)
        if links is not None:
            _links(axes, X, links, theme, 0.8)
        ari, n = score(y, model.labels_).ari, len(set(model.labels_.tolist()) - {-1})
        _plain(
            axes, "density alone" if links is None else "with 60 links",
            f"{n} clusters, crosses are noise; ARI {ari:.2f}", 12,
        )  # fmt: skip
    return figure


def draw_family_mixture(theme: Any) -> Figure:
    """Gaussians that may be long and tilted, without and with links."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 70)
    X = rng.normal(0, 1, (140, 2)) * [2.0, 0.45] @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    X += np.where(y[:, None] == 1, [0.9, -1.2], [0, 0])
    known = Constraints.from_labels(y, 15, random_state=0)
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    runs = (("k-means", KMeans(2, n_init=10, random_state=0).fit(X)),
            ("ConstrainedMixture, 15 links",
             lw.ConstrainedMixture(2, random_state=0).fit(X, constraints=known)))  # fmt: skip
    for axes, (title, model) in zip(panels, runs, strict=True):
        _rows(axes, X, model.labels_, theme, 22, like=y)
        if title != "k-means":
            for mean, covariance in zip(model.means_, model.covariances_, strict=True):
                _ellipse(axes, mean, covariance, theme)
        _plain(axes, title, f"ARI {score(y, model.labels_).ari:.2f}", 12)
    return figure


def _ellipse(axes: Any, mean: Any, covariance: Any, theme: Any) -> None:
    values, vectors = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(*vectors[:, 1][::-1]))
    width, height = 4 * np.sqrt(values[::-1])
    axes.add_patch(
        Ellipse(mean, width, height, angle=angle, fill=False, ec=theme.ink, lw=1.8, zorder=5)
    )


def _two(theme: Any, X: Any, y: Any, known: Constraints, runs: Any) -> Figure:
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (title, model) in zip(panels, runs, strict=True):
        labels = model.fit(X, constraints=known).labels_
        _rows(axes, X, labels, theme, 20, like=y)
        _links(axes, X, known, theme, 0.9)
        _plain(axes, title, f"{known.n_constraints} links; ARI {score(y, labels).ari:.2f}", 12)
    return figure


def draw_family_boost(theme: Any) -> Figure:
    """BoostCluster: agreement by the number of links, for a clusterer without constraints."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    rows = np.flatnonzero(np.isin(digits.target, (3, 8, 9)))[:240]
    X, y = digits.data[rows], digits.target[rows]
    base = KMeans(3, n_init=3, random_state=0)
    counts = (0, 25, 50, 100, 200)
    draws = np.empty((3, len(counts)))
    for draw in range(3):
        for place, count in enumerate(counts):
            known = Constraints.from_labels(y, count, "balanced", random_state=draw)
            model = lw.BoostCluster(base, n_rounds=10, random_state=0)
            labels = model.fit(X, constraints=known).labels_ if count else base.fit_predict(X)
            draws[draw, place] = score(y, labels).ari
    figure = Figure(figsize=(7.4, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(counts, draws.T, "o", color=theme.blue, alpha=0.4, ms=5, mew=0)
    axes.plot(counts, draws.mean(axis=0), color=theme.blue, lw=2.2)
    axes.axhline(draws[0, 0], color=theme.soft, ls="--", lw=1.2)
    axes.set_xlabel("links (three draws)", size=12, loc="left")
    axes.set_ylabel("ARI", size=12)
    axes.text(counts[-1], draws[0, 0] - 0.035, "k-means alone", ha="right", size=11)
    axes.set_xticks(counts)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


PICTURES = {
    name.removeprefix("draw_").replace("_", "-"): function
    for name, function in list(globals().items())
    if name.startswith("draw_")
}
