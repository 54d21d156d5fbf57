# Everything a newcomer needs: `make demo` shows the main job, `make test` proves it.
# Only Python 3.11+ and make are assumed; the virtual environment is made here.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
DEMO := $(VENV)/.demo
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
# A folder with requirements that name every file by its hash: what CI installs (HASHES=.ci). Empty: by version only.
HASHES ?=
# Libraries whose types take long to read: mypy keeps what it read, and looks only at our code afterwards.
TYPED := asyncio executing hypothesis lsprotocol.types mcp.client.stdio mcp.server.lowlevel msgspec multiprocessing pluggy pydantic pygls.lsp.server pytest tomllib yaml
LOCKS := --workrail-locks pytest_workrail/locks/locks.json --workrail-lock-record tests/locks/locks.record.json --workrail-sabotages tests/sabotages --workrail-lock-report docs
UV_COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --constraint constraints.txt
SUPPORTED := 3.11 3.12 3.13 3.14 3.15

.DEFAULT_GOAL := help
.PHONY: docs help setup demo test test-deep test-all lint types unit quick locks fuzz bench bench-quick schemas hashes vscode clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1: /p' $(MAKEFILE_LIST)

setup: $(STAMP) ## make the virtual environment

$(STAMP): pyproject.toml constraints.txt tests/golden/neighbours.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed (set PYTHON=...)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(if $(HASHES),$(PIP) --require-hashes --no-deps --requirement $(HASHES)/requirements.txt)
	$(if $(HASHES),$(PIP) --no-deps --no-build-isolation --editable .,$(PIP) --constraint constraints.txt --editable '.[pytest,dev]')
	$(PIP) --no-deps --upgrade --target $(VENV)/neighbours $(if $(HASHES),--require-hashes --requirement $(HASHES)/neighbours.txt,--constraint constraints.txt --requirement tests/golden/neighbours.txt)
	@echo "compiling the tests, once for all workers"; $(BIN)/python -m pytest --collect-only -qq >/dev/null 2>&1 || true
	@echo "reading the types of the libraries, once"; printf 'import %s\n' $(TYPED) >$(VENV)/libraries.py; $(BIN)/mypy $(VENV)/libraries.py >/dev/null 2>&1 || true
	@touch $@

demo: $(DEMO) ## lint, compile, pin, draw and test the shipped fixtures
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/demo.sh

# The development tools include what the demo needs; without them it needs far less.
$(DEMO): pyproject.toml constraints.txt
	@test -x $(BIN)/workrail-test || { \
	  $(PYTHON) -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[pytest]'; }
	@touch $@

lint: $(STAMP) ## ruff: style and formatting; import-linter: rooms import only lower rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@told=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$told"; exit 1; }

types: $(STAMP) ## mypy --strict
	$(BIN)/mypy

# What Python compiles is kept here, also where the environment forbids it: pytest would rewrite every test file anew for
# each worker, and the tests start many processes.
$(STAMP) unit quick test-deep: export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
$(STAMP) unit quick test-deep: export PYTHONDONTWRITEBYTECODE :=

unit: $(STAMP) ## the tests; without ARGS also the locks: all enforced, enough proven, reports true
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(if $(ARGS),$(ARGS),$(LOCKS) --workrail-locks-check --workrail-locks-proven-fail-under 60 --workrail-locks-verify)

quick: $(STAMP) ## the tests of what changed, in under a minute (SINCE=revision: since then)
	@WORKERS=$(WORKERS) $(BIN)/python -m tools.quick $(if $(SINCE),--since $(SINCE))

locks: $(STAMP) ## prove the locks anew, write their record and reports
	$(BIN)/python -m pytest -q $(LOCKS) --workrail-locks-prove

# The types are checked beside the tests, so that no core waits; what they say comes last.
test: lint ## lint, types and tests: everything that a change can break
	@$(MAKE) --no-print-directory types >$(VENV)/types.log 2>&1 & types=$$!; \
	$(MAKE) --no-print-directory unit; tests=$$?; \
	wait $$types; checked=$$?; cat $(VENV)/types.log; \
	exit $$((tests + checked))

test-deep: $(STAMP) ## planted bugs, long searches, mutants, fuzzing, every Python (MINUTES=60; ARGS: only these tests)
	@WORKERS=$(WORKERS) $(BIN)/python -m $(if $(ARGS),pytest -n $(WORKERS) -m 'deep or search or hypothesis' --hypothesis-profile=deep $(ARGS),tools.deep --minutes $(or $(MINUTES),60))

test-all: ## the tests on every supported interpreter found here (WITHOUT=version: but this one)
	@WITHOUT=$(WITHOUT) sh scripts/test-all.sh $(SUPPORTED)

fuzz: $(STAMP) ## look for inputs that break a reader (SECONDS=60 for all targets together)
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),60)

bench: $(STAMP) ## speed, as ratios measured in one run; writes benchmarks/results.md
	$(BIN)/python -m benchmarks

bench-quick: $(STAMP) ## the same with fewer rounds and smaller inputs, in under a minute
	$(BIN)/python -m benchmarks --quick

schemas: $(STAMP) ## regenerate what is made from models, catalog sources and rules
	$(BIN)/python -m tools.models.generate
	$(BIN)/python -m tools.catalog.generate
	$(BIN)/python -m pytest_workrail.locks.registry
	$(BIN)/python -m tools.rule_tables
	$(BIN)/python -m tools.rule_pages
	$(BIN)/python -m tools.precision
	$(BIN)/python -m tools.engine_defects
	$(BIN)/python -m tools.agent_table

docs: $(STAMP) ## build the site with its playground as build/docs (needs npm for the playground)
	$(BIN)/python -m tools.site
	@echo "look at it: $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/docs"

hashes: ## pin what CI and the action install by hash, from constraints.txt (needs uv)
	printf 'hatchling\neditables\n' | $(UV_COMPILE) --extra pytest --extra dev --output-file .ci/requirements.txt pyproject.toml -
	printf 'hatchling\n' | $(UV_COMPILE) --extra pytest --output-file .ci/action.txt pyproject.toml -
	$(UV_COMPILE) --no-deps --output-file .ci/neighbours.txt tests/golden/neighbours.txt

vscode: $(STAMP) ## package the VS Code extension as editors/vscode/workrail-lint.vsix (needs npm)
	cd editors/vscode && npm ci --no-audit --no-fund --loglevel=error
	mkdir -p editors/vscode/schemas && cp LICENSE editors/vscode/
	for kind in bindings team-status team-acceptance; do $(BIN)/workrail-lint schema $$kind > editors/vscode/schemas/$$kind.schema.json || exit 1; done
	cd editors/vscode && npm run --silent check && npm run --silent build && npm run --silent package
	cd editors/vscode && PYTHON="$(CURDIR)/$(BIN)/python" npm run --silent test

clean: ## remove what the targets made
	rm -rf $(VENV) .venv-* .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf editors/vscode/node_modules editors/vscode/dist editors/vscode/schemas editors/vscode/*.vsix editors/vscode/LICENSE
