# The two commands: `make demo` and `make test`. Each sets up what it needs on a clean clone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest
DATA   ?= $(abspath ../shared/datasets)
# The oldest Python that pyproject.toml allows, where it is there.
OLDEST_PYTHON ?= $(shell command -v python3.11 || echo $(PYTHON))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export LINKWISE_DATA ?= $(DATA)

.PHONY: demo test lint unit browser bench papers papers-full docs docs-quick clean
.PHONY: dist test-oldest

demo: $(VENV)/.demo
	$(BIN)/linkwise demo

test: lint docs-quick unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# pytest goes last, so that its summary line ends the run.
unit: $(VENV)/.test browser
	$(BIN)/pytest -n auto

# Browser tests use the system's Chromium. Only root can install it; without it they are skipped.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && echo "installing chromium for the browser tests" \
	  && apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
	     --no-install-recommends chromium >/dev/null; } \
	  || echo "no chromium: browser tests will be skipped"

# The documentation, with every example of the gallery run; a warning is an error.
docs: $(VENV)/.docs
	rm -rf docs/reference/generated
	$(BIN)/sphinx-build -E -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The same without running the gallery; part of `make test`.
docs-quick: $(VENV)/.docs
	rm -rf docs/reference/generated
	LINKWISE_DOCS_QUICK=1 $(BIN)/sphinx-build -E -W --keep-going -q -b html docs docs/_build/quick

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

# Source and wheel, the wheel made out of the source; then tried as a user would get it.
dist: $(VENV)/.dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python .ci/check_dist.py dist

# The tests with the oldest of everything that pyproject.toml allows, in an environment of its own.
test-oldest: $(OLDEST)/.test
	NUMBA_CACHE_DIR=$(abspath $(OLDEST))/numba $(OLDEST)/bin/pytest -n auto -p no:cacheprovider

# Every document rebuilt: quick versions (some 15 minutes on two cores), or all trials (hours).
papers: $(VENV)/.test
	$(BIN)/python -m papers.claims --quick --jobs -1

papers-full: $(VENV)/.test
	$(BIN)/python -m papers.claims --full --jobs -1

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/pip pyproject.toml
	$(BIN)/pip install --quiet --editable '.[plot]'
	@touch $@

$(VENV)/.test: $(VENV)/bin/pip pyproject.toml
	$(BIN)/pip install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.dist: $(VENV)/bin/pip
	$(BIN)/pip install --quiet build
	@touch $@

# uv is the installer that can choose the oldest versions; it lives beside what it installs.
$(OLDEST)/.test: pyproject.toml
	$(OLDEST_PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/pip install --quiet uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct \
	  --editable '.[test,dask]'
	@touch $@

$(VENV)/.docs: $(VENV)/bin/pip pyproject.toml
	$(BIN)/pip install --quiet --editable '.[docs]'
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) $(OLDEST) build dist docs/_build docs/reference/generated docs/auto_examples .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
