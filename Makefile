PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help install check test demo bench repro clean

help:  ## show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(STAMP): pyproject.toml
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

install: $(STAMP)  ## create .venv and install everything

check: $(STAMP)  ## lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py

test: $(STAMP)  ## all tests
	$(BIN)/python -m pytest -n 2

demo: $(STAMP)  ## solve a real instance, show the plan
	$(BIN)/python -m pipefill_opt.cli demo -o out/demo

bench: $(STAMP)  ## speed and memory, as ratios
	$(BIN)/python -m benchmarks.run

repro: $(STAMP)  ## reproduce published figures
	$(BIN)/python -m paper_repro.pipefill_bubbles -o out/repro

clean:  ## remove what the targets made
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache
