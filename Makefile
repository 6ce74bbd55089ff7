# make demo   environment, install, and the main job on the data shipped in the package
# make check  lint, types and the fast tests: for the inner loop
# make test   everything that CI runs
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

.PHONY: demo check test bench bench-full bench-nets lda attack reproduce docs docs-serve screenshots lint types fast unit wheel clean help

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
