# Everything a newcomer types. Each target sets up what it needs; delete .venv to start afresh.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DATA ?=
SUITE ?= smoke
# Without its cache pytest would rewrite every test file anew, in each process.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check test lint bench clean
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

$(VENV)/.core: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ragguard needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@echo "Installing ragguard and what it needs into $(VENV), about half a minute ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.bench: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --group bench
	touch $@

$(VENV)/.test: $(VENV)/.core
	@echo "Installing what the tests need ..."
	$(BIN)/python -m pip install --quiet --group test
	touch $@

$(VENV)/.lint: $(VENV)/.test
	@echo "Installing ruff, mypy and import-linter ..."
	$(BIN)/python -m pip install --quiet --group lint
	touch $@

demo: $(VENV)/.core
	$(BIN)/ragguard demo

check: lint
	$(PYTEST) -q -rfE -x -m "not slow" --hypothesis-profile quick

test: $(VENV)/.test
	@echo "Running the tests, five to eight minutes on two cores; those of parts that are not installed are skipped."
	$(PYTEST) -rfE
	$(BIN)/python -m pytest -q --doctest-modules --ignore=ragguard/review ragguard

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks run $(SUITE) --jobs 2 $(if $(DATA),--data $(DATA))

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage
