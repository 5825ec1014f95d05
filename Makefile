# `make demo`, `make docs` and `make test` do all the set-up that they need.
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Small batched linear algebra is slower with more threads, and bits would depend on their number.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
# Tests start many processes, which would all translate the same sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs wheels release numba test lint types bench golden faults interruptions fuzz soak runs extremes audit clean

demo: $(VENV)/.ready
	@echo "Learning by analogy: three worlds, what was learned, and the paper's Figure 1."
	@echo "The first time a minute or two, most of it to compile; then a page: results/demo/report.html"
	@$(BIN)/gim reproduce demo --scale paper --out results/demo

# The site: build/docs/html. Every example is run, every warning is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m docs.site.build

# gim and all that its extras need, to install where there is no network:
#   pip install --no-index --find-links dist/wheels "gim[lab]"
wheels: $(VENV)/.ready
	$(BIN)/python -m pip wheel --quiet --wheel-dir dist/wheels ".[plot,log,lab,ray]"

# The newest numba that pip offers, in an environment of its own: do the tests of compiled code pass?
numba: $(VENV)/.ready
	$(BIN)/python -m tools.newest_numba

# Whether all is ready: version, changelog, sdist with its tests, wheel with the README, links.
release: $(VENV)/.ready
	$(BIN)/python -m tools.release

# A file of tests goes to one process: what its tests share is made once, and compiled once.
test: lint types
	$(BIN)/python -m pytest -n 2 --dist loadfile --doctest-modules tests gim gim_lab

lint: $(VENV)/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.ready
	$(BIN)/mypy

# Ratios against peers and against the floor, in one run; peers get environments of their own.
bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

# What inference and certificates come to in small worlds, written down anew: a change that is meant.
golden: $(VENV)/.ready
	$(BIN)/python -m tests.golden_net

# What must not break it, as tables (docs/robustness.md); the tests run a short form of each.
faults interruptions fuzz soak runs extremes: $(VENV)/.ready
	$(BIN)/python -m tools.robustness $@

# Known weaknesses of what is installed; says so where no source of advisories can be reached.
audit: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet "pip-audit>=2.7"
	$(BIN)/python -m tools.audit

$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "Installing gim and its tools into $(VENV): about a minute, only the first time."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@

$(VENV)/.docs: $(VENV)/.ready
	@echo "Installing what makes the pages."
	@$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
