# A virtual environment of its own, then the job. `make PYTHON=python3.12 test` picks an interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: test lint bench clean help

help:
	@echo "make test    set up $(VENV) and run every test"
	@echo "make lint    ruff and mypy"
	@echo "make bench   speed against honest peers (installs River and Vowpal Wabbit)"
	@echo "make clean   remove $(VENV) and caches"

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@

test: $(VENV)/.ready
	$(BIN)/python -m pytest

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[dev,peers]" || echo "some peers could not be installed; they are left out"
	$(BIN)/olbench bench

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
