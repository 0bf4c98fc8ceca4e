# `make demo` and `make test` set up everything they need, in .venv.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test coverage check docs clean

demo: $(READY)
	$(BIN)/learning-memory-server demo

test: $(READY)
	$(BIN)/pytest -q

# Apart, because it doubles the time: every process that a test starts is measured, too.
coverage: $(READY)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.reference --check

docs: $(READY)
	$(BIN)/python -m scripts.reference

clean:
	rm -rf .venv .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis

# torch goes first and by itself: a later package would take the newest, in whatever build that comes. Where pip is
# offered a CPU build (see README.md), this is it; the CUDA one is gigabytes, and of no use here.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
