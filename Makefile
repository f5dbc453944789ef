# Two commands matter: `make demo` and `make test`. Both start from nothing but Python 3.11 and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
DIR ?= .
PYTEST_ARGS ?=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test nightly battery lint types docs docs-check bench lock clean servers

help:
	@echo "make demo [DIR=folder]  install, then survey a folder with a team of three agents, offline"
	@echo "make test               install, then run the whole suite"
	@echo "make lint types docs-check   what CI checks beside the tests"
	@echo "make docs               regenerate docs/reference/"
	@echo "make nightly            run the state machines for more than 10,000 steps"
	@echo "make battery            run the suite and write docs/reference/fault-battery.md from it"
	@echo "make bench              run the benchmarks and print their tables"
	@echo "make lock               refresh the lock files from pyproject.toml"

$(VENV)/.runtime: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "hub needs Python 3.11 or newer; name it with: make PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing hub into $(VENV)"
	@$(PIP) --requirement requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements-dev.lock
	@echo "installing the test tools"
	@$(PIP) --requirement requirements-dev.lock
	@touch $@

demo: $(VENV)/.runtime
	@$(BIN)/python tests/third_party/install.py --quiet --optional git
	@$(BIN)/python examples/survey/demo.py '$(subst ','\'',$(DIR))'

servers: $(VENV)/.dev
	@$(BIN)/python tests/third_party/install.py

test: $(VENV)/.dev servers
	PYTHONWARNDEFAULTENCODING=1 $(BIN)/python -m pytest -n auto $(PYTEST_ARGS)

nightly: $(VENV)/.dev
	HUB_NIGHTLY=1 $(BIN)/python -m pytest -q tests/dispatch/test_job_machine.py tests/core/test_ledger.py --timeout 3000

battery: $(VENV)/.dev servers
	$(BIN)/python -m pytest -q -n auto --fault-battery=docs/reference/fault-battery.md

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/python docs/generate_reference.py

docs-check: $(VENV)/.dev
	$(BIN)/python docs/generate_reference.py --check

bench: $(VENV)/.dev
	$(BIN)/python -m bench

lock:
	rm -rf .make/lock && $(PYTHON) -m venv .make/lock
	.make/lock/bin/python -m pip install --quiet --upgrade pip
	.make/lock/bin/python -m pip install --quiet . hatchling editables
	.make/lock/bin/python -m pip freeze --exclude dispatch-hub --exclude pip --exclude setuptools > requirements.lock
	.make/lock/bin/python -m pip install --quiet --group dev
	.make/lock/bin/python -m pip freeze --exclude dispatch-hub --exclude pip --exclude setuptools > requirements-dev.lock

clean:
	rm -rf $(VENV) .third-party .make dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
