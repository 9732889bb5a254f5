# Two commands: `make serve` and `make test`. Both need only make and Python 3.11 or newer, and set up the rest in .venv.

# For `make serve`; what is left empty is the server's own default.
PORT    ?=
WORKERS ?=
PACKS   ?=

VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTHON ?= $(shell for name in python3.11 python3 python3.12 python3.13 python3.14 python; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)

.DEFAULT_GOAL := help
.PHONY: help serve test lint lint-style lint-types lint-arrows format bench soak lock clean

help: ## This list
	@sed -n 's/^\([a-z]*\):[^#]*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

serve: $(VENV)/base.stamp ## Serve the packs over HTTP (PORT=8080 WORKERS=2 PACKS="my-pack.yaml other/")
	@PORT='$(PORT)' WORKERS='$(WORKERS)' PACKS='$(PACKS)' exec $(BIN)/server

test: $(VENV)/test.stamp build/editor/made.stamp build/browser/made.stamp ## Every test: the engine, the server, the set-up, the docs, types, style and architecture
	@echo "Testing: pytest on all cores ..."
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

lint: lint-style lint-types lint-arrows ## Style (ruff), types (mypy), and which module may import which (import-linter)

lint-style: $(VENV)/test.stamp
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --diff .

lint-types: $(VENV)/test.stamp
	@$(BIN)/mypy

lint-arrows: $(VENV)/test.stamp
	@$(BIN)/lint-imports

format: $(VENV)/test.stamp ## Bring the code into shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/bench.stamp ## Run what stands in benchmarks/
	@for file in benchmarks/*.py; do \
		echo "Measuring: $$file ..."; $(BIN)/python -m benchmarks.$$(basename "$$file" .py) || exit 1; done

soak: $(VENV)/test.stamp ## What takes longer: property tests with many more examples, and servers under fire for minutes
	@echo "Soaking: the property tests with many more examples, and servers under fire ..."
	@SOAK=1 $(BIN)/python -m pytest -m "hypothesis or soak" --hypothesis-profile=soak -n auto --dist worksteal $(ARGS)

lock: ## Pin the dependencies anew, with hashes (ARGS=--upgrade takes newer versions)
	@echo "Locking: requirements/*.lock ..."
	@[ -x build/lock/bin/uv ] || { $(PYTHON) -m venv build/lock && build/lock/bin/python -m pip install --quiet uv; }
	@$(COMPILE) requirements/build.in -o requirements/build.lock
	@$(COMPILE) pyproject.toml --extra redis -c requirements/build.lock -o requirements/base.lock
	@$(COMPILE) pyproject.toml --extra dev -c requirements/build.lock -c requirements/base.lock -o requirements/test.lock
	@$(COMPILE) pyproject.toml --extra bench -c requirements/test.lock -o requirements/bench.lock
	@if command -v npm >/dev/null; then cd tests/editor && npm install --package-lock-only $(NPM) >/dev/null; \
		else echo "npm is not on the PATH: tests/editor/package-lock.json stays as it is."; fi

# uv asks the public index whatever this machine's pip is set to, so the hashes are those that everyone gets.
COMPILE = env UV_NO_CONFIG=1 UV_CUSTOM_COMPILE_COMMAND="make lock" build/lock/bin/uv pip compile \
	--quiet --generate-hashes --python-version 3.11 --no-emit-index-url $(ARGS)

clean: ## Remove everything that make made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The set-up, said aloud. A stamp is made anew when a lock or the project's own description changes.
$(VENV)/made.stamp:
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed, and none is on the PATH (or say PYTHON=/path/to/python)." >&2; exit 1; }
	@echo "Setting up: creating $(VENV) with $(PYTHON) ..."
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) could not create $(VENV). On Debian and Ubuntu its venv module is a package: python3-venv." >&2; exit 1; }
	@touch $@

$(VENV)/base.stamp: $(VENV)/made.stamp requirements/build.lock requirements/base.lock pyproject.toml hatch_build.py
	@echo "Setting up: installing requirements/base.lock ..."
	@$(PIP) --require-hashes -r requirements/build.lock -r requirements/base.lock
	@echo "Setting up: installing Deskproof itself ..."
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/test.stamp: $(VENV)/base.stamp requirements/test.lock
	@echo "Setting up: installing requirements/test.lock ..."
	@$(PIP) --require-hashes -r requirements/test.lock
	@touch $@

# What others measure beside: installed for `make bench` alone.
$(VENV)/bench.stamp: $(VENV)/test.stamp requirements/bench.lock
	@echo "Setting up: installing requirements/bench.lock ..."
	@$(PIP) --require-hashes -r requirements/bench.lock
	@touch $@

# The language server that tests/editor speaks with. Without npm these tests are skipped; in CI they fail, so there it is
# got from Debian's packages.
NPM = --loglevel=error --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved

build/editor/made.stamp: tests/editor/package.json tests/editor/package-lock.json
	@if [ "$$CI" = true ] && ! command -v npm >/dev/null; then \
		echo "Setting up: installing npm from the system's packages ..."; \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends nodejs npm >/dev/null; fi || true
	@if command -v npm >/dev/null; then \
		echo "Setting up: installing tests/editor/package-lock.json ..."; \
		mkdir -p build/editor && cp $^ build/editor && (cd build/editor && npm ci $(NPM) >/dev/null) && touch $@ \
			|| echo "npm could not install it: the tests of editors can't run." >&2; \
	else echo "npm is not on the PATH: the tests of editors can't run." >&2; fi

# The browser that looks at a run's page. Without it these tests are skipped; in CI they fail, so there it is got from
# Debian's packages.
build/browser/made.stamp:
	@if [ "$$CI" = true ] && ! command -v chromium >/dev/null; then \
		echo "Setting up: installing chromium from the system's packages ..."; \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; fi || true
	@if command -v chromium >/dev/null; then mkdir -p build/browser && touch $@; \
	else echo "chromium is not on the PATH: the tests of pages in a browser can't run." >&2; fi
