# make demo   environment, install, and the main job on the data shipped in the package
# make check  lint, types and the fast tests: for the inner loop
# make test   everything that CI runs
# make test-oldest  the tests with Python 3.10 and the oldest versions that pyproject.toml accepts
# make lock  requirements-dev.lock: the development environment with hashes
# make audit-deps  known weaknesses of the locked versions, by pip-audit; needs the network
# make release  sdist and wheel, built twice, compared and checked; publishes nothing
# make bench  time, memory, error and gap against fairlearn, in a few minutes
# make bench-full  the same in full, in up to 40 minutes: the tables of docs/benchmarks/speed.md
# make bench-nets  the cost of a training step, of torchrun, and the nets of docs/benchmarks/nets.md
# make lda  less discriminatory alternatives on HMDA over five splits: the table of docs/benchmarks/lda.md
# make attack  kill, interrupt, fill the disk, damage, fuzz and guess: the table of docs/reference/reliability.md, in hours
# make reproduce NAME=tabular  an experiment of the paper: tabular, labels, celeba, verbs, xray, looks or theory
# make docs  the documentation site in build/site, offline: tutorials run, every link checked
# make docs-serve  the same while you write, at http://127.0.0.1:8000
# make screenshots  the screenshots of the report in docs/
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check install -q -c constraints.txt

NAME ?= tabular

PYTHON_OLDEST ?= python3.10
OLDEST = .venv-oldest
OLDEST_EXTRAS = compare,dask,hub,lightgbm,mlflow,parquet,report,spark

.PHONY: demo check test test-oldest lock audit-deps release bench bench-full bench-nets lda attack reproduce docs docs-serve screenshots lint types fast unit wheel clean help

help:
	@sed -n 's/^# make/  make/p' Makefile

$(VENV)/.demo: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[compare,report]"
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[dev]"
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/fairalm demo

check: lint types fast

test: $(VENV)/.dev
	$(MAKE) --no-print-directory -j 2 --output-sync lint types wheel
	$(MAKE) --no-print-directory unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

fast: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

unit: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# The wheel as a user gets it: built, installed alone, and asked for its version and a shipped data set.
wheel: $(VENV)/.dev
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m build --wheel --outdir build/wheel . > build/wheel/build.log
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip --disable-pip-version-check install -q -c constraints.txt build/wheel/*.whl
	cd build/wheel && venv/bin/fairalm --version && venv/bin/fairalm list > /dev/null && \
	  venv/bin/python -c "import fairalm.datasets as d; print(d.load_german().describe())"

# Without torch, whose oldest wheels bring gigabytes of CUDA: what needs it is skipped. The oldest matplotlib warns of
# newer versions of pyparsing, and the oldest pyspark leaves sockets for Python to close.
$(OLDEST)/.done: pyproject.toml constraints-oldest.txt
	test -x $(OLDEST)/bin/python || $(PYTHON_OLDEST) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip --disable-pip-version-check install -q -c constraints-oldest.txt -e ".[$(OLDEST_EXTRAS)]" \
	  hypothesis matplotlib pillow polars "pyparsing<3.2" pytest pytest-xdist xgboost-cpu
	@touch $@

test-oldest: $(OLDEST)/.done
	OMP_NUM_THREADS=1 PYSPARK_PYTHON=$(CURDIR)/$(OLDEST)/bin/python \
	  $(OLDEST)/bin/python -m pytest -n 2 --dist worksteal --doctest-ignore-import-errors \
	  -W ignore::pytest.PytestUnraisableExceptionWarning --ignore tests/test_docs.py tests src

lock: $(VENV)/.dev
	$(PIP) uv
	$(BIN)/uv pip compile pyproject.toml --extra dev -c constraints.txt --python-version 3.11.5 --generate-hashes \
	  --no-annotate --no-header -q -o requirements-dev.lock

audit-deps: $(VENV)/.dev
	$(PIP) pip-audit
	$(BIN)/pip-audit --strict --disable-pip --require-hashes -r requirements-dev.lock

# The date of the last commit stands in the archives, so that the same commit gives the same bytes.
release: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
release: $(VENV)/.dev
	$(PIP) twine check-wheel-contents
	rm -rf build/release
	$(BIN)/python -m build --outdir build/release/first . > /dev/null
	$(BIN)/python -m build --outdir build/release/second . > /dev/null
	diff -r build/release/first build/release/second
	$(BIN)/python -m twine check --strict build/release/first/*
	$(BIN)/check-wheel-contents build/release/first/*.whl
	@echo "Built and checked in build/release/first; nothing was published."

bench: $(VENV)/.dev
	$(PIP) -e ".[bench]"
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed.py

bench-full: $(VENV)/.dev
	$(PIP) -e ".[bench]"
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed.py --full --write docs/benchmarks/speed.md docs/benchmarks/tables.md

bench-nets: $(VENV)/.dev
	$(PIP) -e ".[bench]"
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/step_time.py --write docs/benchmarks/nets.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/torchrun.py --write docs/benchmarks/scale.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/nets.py

lda: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/lda.py --write docs/benchmarks/lda.md

attack: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.attack --full
	$(BIN)/python -m tools.attack --write docs/reference/reliability.md

reproduce: $(VENV)/.dev
	$(BIN)/python -m reproduction $(NAME) $(OPTIONS)

# NO_MKDOCS_2_WARNING: the theme says at each start until when it is maintained; CONTRIBUTING has that
docs: $(VENV)/.dev
	rm -rf build/tutorials
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	$(BIN)/python -m tools.links build/site

docs-serve: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve --watch src --watch tools

screenshots: $(VENV)/.dev
	$(BIN)/fairalm frontier compas -o build/compas --overwrite
	$(BIN)/python tools/screenshots.py build/compas/report.html

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache
