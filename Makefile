PYTHON ?= python3.11
PYTHON312 ?= python3.12
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help install check test demo bench repro agreement compat clean

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
	$(BIN)/python -m paper_repro.models.throughput -o out/repro
	$(BIN)/python -m paper_repro.models.pipefill_days -o out/repro
	$(BIN)/python -m paper_repro.models.zero_bubble -o out/repro
	$(BIN)/python -m paper_repro.models.fill_jobs -o out/repro
	$(BIN)/python -m paper_repro.models.parameters -o out/repro
	$(BIN)/python -m paper_repro.models.activations -o out/repro
	$(BIN)/python -m paper_repro.models.split -o out/repro

agreement: $(STAMP)  ## every solver against brute force on all 2,000 random problems (six minutes)
	$(BIN)/python -m tests.solve.agreement --seeds 2000

compat:  ## the MILP tests on PuLP 4, with a Python 3.12 or newer: make compat PYTHON312=python3.12
	@$(PYTHON312) -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null \
	  || { echo "skipped: no Python 3.12 at '$(PYTHON312)', and PuLP 4 needs it" >&2; exit 0; } \
	  && test -d .venv-compat || $(PYTHON312) -m venv .venv-compat \
	  && .venv-compat/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' 'pulp>=4,<5' \
	  && .venv-compat/bin/python -m pytest tests/solve/test_milp.py tests/solve/test_maximize.py tests/solve/test_mps.py \
	     tests/solve/test_direct.py tests/solve/test_by_program.py tests/solve/test_facade.py tests/solve/test_start.py

clean:  ## remove what the targets made
	rm -rf $(VENV) .venv-compat out build dist .pytest_cache .mypy_cache .ruff_cache
