# make demo: a five-arm trial from plan to report.  make test: the whole suite, as CI runs it.
# Each sets itself up in .venv; nothing outside this folder is touched.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test clean

demo: .venv/.demo
	$(BIN)/bestarm demo

test: .venv/.test
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/pytest -q -n 2 --dist loadfile

.venv/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "Python is missing. Install it: sudo apt-get install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is $$($(PYTHON) -V); bestarm needs Python 3.11 or newer. Install one and run: make PYTHON=python3.12 demo"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "Python cannot make virtual environments here. Install them: sudo apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/.test: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
