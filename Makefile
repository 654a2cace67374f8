# Everything creates .venv itself; no other set-up is needed.
PYTHON       ?= python3
VENV         := .venv
BIN          := $(VENV)/bin
STAMP        := $(VENV)/.installed
ENGINES      := $(VENV)/.engines
DOCS         := $(VENV)/.docs

EXPERIMENTS  ?= *
PAPERS       := histoftree/* lpct/* label_dp/* theory/*
# interpretations of the papers' tables and figures that were tried: they run where they are named
CAUSES       := histoftree/causes histoftree/figure2a_cart lpct/causes lpct/causes_tables
# wrong implementations and other alternatives to the printed numbers
MUTANTS      := mutants/histoftree mutants/lpct_figures mutants/lpct_figure8 mutants/lpct_table2
REPLICATIONS ?=
RESULTS      ?= results
SEED         ?=
WORKERS      ?=
PORT         ?=
LEVEL        ?= bitwise
ALL          ?=
OVERWRITE    ?=

OPTIONS = --results $(RESULTS) $(if $(SEED),--seed $(SEED)) $(if $(REPLICATIONS),--replications $(REPLICATIONS)) $(if $(WORKERS),--workers $(WORKERS)) $(if $(OVERWRITE),--overwrite)

.DEFAULT_GOAL := help
.PHONY: help install engines docs site reproduce everything comparison sealed field extensions quick verify test test-all lint wheel audit bench datasets report ui lock clean

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'
	@echo "  variables: EXPERIMENTS='histoftree/*' REPLICATIONS=10 RESULTS=folder SEED=1 WORKERS=2"
	@echo "  data:      LPBENCH_DATA_MIRROR=folder with the original files (see datasets/README.md)"

install: $(STAMP) ## Create .venv and install the pinned requirements and lpbench

$(STAMP): requirements.lock pyproject.toml setup.py
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lpbench needs Python >= 3.11; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	@$(BIN)/python scripts/install_pinned.py requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

engines: $(ENGINES) ## Add what computing on Dask, Ray and SLURM needs (docs/cluster.md)

$(ENGINES): $(STAMP) requirements-engines.lock
	@$(BIN)/python scripts/install_pinned.py requirements.lock requirements-engines.lock
	@touch $@

$(DOCS): $(STAMP) requirements-docs.lock
	@$(BIN)/python scripts/install_pinned.py requirements.lock requirements-docs.lock
	@touch $@

docs: $(DOCS) ## The documentation and the API as pages, in build/docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs

site: docs report ## Pages and documentation as one static folder, in build/site
	$(BIN)/python scripts/make_site.py --results $(RESULTS)

reproduce: $(STAMP) ## Re-run the three papers, put their theorems on trial (EXPERIMENTS selects); writes a report of the run
	$(BIN)/lpbench reproduce $(foreach e,$(or $(filter-out *,$(EXPERIMENTS)),$(PAPERS)),'$(e)') $(OPTIONS)

everything: $(STAMP) ## The papers, our extensions and the comparison on further data: see README for the time
	$(BIN)/lpbench reproduce '*' $(CAUSES) $(MUTANTS) $(OPTIONS)

sealed: $(STAMP) ## Today's methods on the sealed sets: once, from a clean commit, with a record
	$(BIN)/python scripts/run_sealed.py --results $(RESULTS)

extensions: $(STAMP) ## Our own experiments: baselines, tuning-free methods, ablations, corrupted data
	$(BIN)/lpbench reproduce 'extensions/*' $(OPTIONS)

comparison: $(STAMP) ## Published randomizers with learners, compared; sealed results stay as they are
	$(BIN)/lpbench reproduce 'comparison/*' $(OPTIONS)

field:
	@echo "make field is called make comparison" >&2; exit 2

quick: $(STAMP) ## A minute of it: experiments without download, two replications, into results/runs
	$(BIN)/lpbench reproduce $(foreach e,$(filter-out *,$(EXPERIMENTS)),'$(e)') $(OPTIONS) --quick

verify: $(STAMP) ## Run a sample again (ALL=1: all) and compare with results/reproduced (LEVEL=bitwise|numeric|statistical)
	$(BIN)/lpbench verify $(LEVEL) $(if $(filter-out *,$(EXPERIMENTS)),$(foreach e,$(EXPERIMENTS),'$(e)')) $(if $(WORKERS),--workers $(WORKERS)) $(if $(ALL),--all)

# one process more than cores: some tests wait for what they started
SPARE = $(shell $(BIN)/python -c "import os; print(1 + (os.cpu_count() or 1))")

# hundreds of tests start a process, which would compile all modules anew where Python keeps no bytecode
test test-all: export PYTHONDONTWRITEBYTECODE :=

# a test that waits forever says where, and is a failure beside which the others go on
GUARD = -o faulthandler_timeout=240 -o faulthandler_exit_on_timeout=true --max-worker-restart 0

# files are shared out whole, so that what a module prepares is prepared once
test: $(STAMP) ## The test suite without the slow tests (ROOM=privacy: those of one folder or file of tests/)
	$(BIN)/python -m pytest $(if $(ROOM),$(firstword $(wildcard tests/$(ROOM) tests/test_$(ROOM).py) tests/$(ROOM))) -m "not slow" -n $(or $(WORKERS),$(SPARE)) --dist loadfile --no-loadscope-reorder $(GUARD)

test-all: $(ENGINES) ## The whole test suite, on all engines
	$(MAKE) test
	$(BIN)/python -m pytest -m slow

lint: $(STAMP) ## Style, types, layers of the architecture, words, docstrings, size, and no test that asserts a wall time
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python scripts/check_clocks.py tests
	$(BIN)/codespell
	$(BIN)/python scripts/check_words.py .
	$(BIN)/python scripts/check_docstrings.py .
	$(BIN)/python scripts/check_size.py .
	$(BIN)/python scripts/check_skips.py .

wheel: $(STAMP) ## Build sdist and both wheels (lpbench, lpbench-light), and use them outside the checkout
	$(BIN)/python scripts/wheel_smoke.py

audit: $(STAMP) ## Privacy audit of every method
	$(BIN)/lpbench audit --results $(RESULTS)

bench: $(STAMP) ## Benchmarks, into results/reproduced/bench.csv (minutes)
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-timer=time.process_time -p no:cacheprovider

datasets: $(STAMP) ## Download what the mirror does not hold; say what is there and what is not
	$(BIN)/python scripts/download_datasets.py

report: $(STAMP) ## Replace the committed report: by complete runs of a paper, else anew from its committed scores
	$(BIN)/lpbench report --replace --results $(RESULTS)

ui: $(STAMP) ## Browse the runs in MLflow on 127.0.0.1:5000 (PORT)
	$(BIN)/lpbench ui --results $(RESULTS)$(if $(PORT), --port $(PORT))

lock: $(STAMP) ## Write requirements.lock from the installed versions
	$(BIN)/python scripts/make_lock.py

clean: ## Remove .venv, caches and results that are not committed
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find results -mindepth 1 -maxdepth 1 ! -name published ! -name reproduced ! -name submissions -exec rm -rf {} +
