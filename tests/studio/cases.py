"""Sessions and servers that the tests of the studio share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
from sklearn.datasets import load_iris

EVIL = (
    "<script>window.taken=1</script><img src=x onerror='window.taken=1'>"
    "{{ window.taken=1 }}`${window.taken=1}`"
)


def iris():
    """Data, classes, names of columns."""
    found = load_iris()
    return found.data, found.target, [name.replace(" (cm)", "") for name in found.feature_names]


def write_iris(path):
    X, _, names = iris()
    lines = [",".join(["flower", *names])]
    lines += [",".join([f"iris-{row:03d}", *map(str, cells)]) for row, cells in enumerate(X)]
    path.write_text("\n".join(lines) + "\n")
    return path


def blobs(n_rows, n_clusters=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_clusters, size=n_rows)
    return rng.normal(size=(n_rows, 4)) + 6 * np.eye(max(n_clusters, 4))[y][:, :4], y


def picture_of(work):
    """Clusters and links on the map, once it is laid out."""
    work.map.places()
    return work.map.picture(work.session.snapshot())


def carry_out(work, *clusters):
    """Merge two clusters or split one, as the preview shows it."""
    shown = work.corrections.preview(clusters)
    work.corrections.apply(clusters, shown["stamp"], "ana")
    return shown


def get(url, token=None, **headers):
    """Status and text of a request."""
    return _send(urllib.request.Request(url, headers=_head(token, headers)))


def post(url, value, token=None, **headers):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    headers = {"Content-Type": "application/json", **headers}
    return _send(urllib.request.Request(url, data, _head(token, headers)))


def _head(token, headers):
    return headers if token is None else {"Authorization": f"Bearer {token}", **headers}


def _send(request):
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def url(studio, path, token=True):
    """Address of a path of a studio, with its token unless told otherwise."""
    shown = f"{'&' if '?' in path else '?'}token={studio.token}" if token else ""
    return f"http://127.0.0.1:{studio.port}{path}{shown}"


class Served:
    """`linkwise studio` in a process of its own."""

    def __init__(self, *arguments, patience=90):
        command = [sys.executable, "-m", "linkwise", "studio", *map(str, arguments), "--no-open"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
        )
        line = self.process.stdout.readline()
        assert line.startswith("the studio: "), line + self.process.stdout.read()
        self.url = line.split()[-1]
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                get(self.url)
                return
            except urllib.error.URLError:
                time.sleep(0.05)
        raise TimeoutError(self.url)

    def kill(self):
        """As by `kill -9`."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
