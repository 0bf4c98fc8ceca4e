# `make demo` and `make test` set up everything they need, in .venv: the demo what users install, the tests the rest.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
TORCH := $(VENV)/.torch

.PHONY: demo test test-torch quick bench golden coverage check lines docs site dist clean size

# Python compiles 50,000 lines for each run and each process that tests start, unless it may keep the result.
demo check test test-torch quick coverage: export PYTHONDONTWRITEBYTECODE =

demo: $(INSTALLED)
	$(BIN)/learning-memory-server demo

# Twice as many at once as two cores: many tests wait for processes that they start.
test: $(READY)
	$(BIN)/pytest -q -n 4 --dist worksteal

# The tests that `make test` leaves out, and counts, where torch is missing.
test-torch: $(TORCH)
	$(BIN)/pytest -q -n 2 -m torch

# Every test that is not marked slow, for the time between two edits.
quick: $(READY)
	$(BIN)/pytest -q -n 2 -m "not slow"

# All benchmarks, and one page of what they say: build/bench.md. Takes hours; DATA=FOLDER has recorded data.
bench: $(READY)
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA))

# What agents are shown in the situations of tests/advice/golden.toml, written anew: look at the diff.
golden: $(READY)
	$(BIN)/python -m scripts.golden

# Apart, because it doubles the time: every process that a test starts is measured, too.
coverage: $(READY)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

check: $(READY) lines
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.reference --check

# Lines of Python by package, so that growth is seen.
lines:
	@find learning_memory_server -name '*.py' -exec cat {} + | wc -l | xargs printf '%6d lines in learning_memory_server\n'
	@for package in learning_memory_server/*/__init__.py; do \
	    folder=$$(dirname $$package); \
	    find $$folder -name '*.py' -exec cat {} + | wc -l | xargs printf "%6d $$(basename $$folder)\n"; \
	done | sort -rn

docs: $(READY)
	$(BIN)/python -m scripts.reference

# The documents as a site with search, in build/site.
site: $(READY)
	$(BIN)/python -m scripts.site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# What a release consists of, in dist: wheel, source distribution, MCPB bundle, entry for the MCP registry.
dist: $(READY)
	$(BIN)/python -m scripts.distributions

# What an installation takes: builds the wheel and installs it into a new environment. Fails above 650 MB.
size: $(READY)
	$(BIN)/python -m scripts.size

clean:
	rm -rf build dist .venv .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis

# What users install; the demo needs no more. Compiled when it is first used: most of what these packages have never is.
$(INSTALLED): pyproject.toml
	@echo "Installing into $(VENV); pip shows what it downloads, 0.5 GB in all:"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --no-compile --editable .
	touch $@

$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	touch $@

# torch goes first and by itself: a later package would take the newest, in whatever build that comes. Where pip is
# offered a CPU build (see docs/how-to/install.md), this is it; the CUDA one is gigabytes, and of no use here.
$(TORCH): $(READY) constraints.txt
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[dev-torch]'
	touch $@
