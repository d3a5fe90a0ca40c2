# `make` alone lists what there is. Everything runs in .venv, which `make setup` makes and keeps up to date.
#   PYTHON=python3.12   the Python to make .venv with       LAB_ARGS=, DASHBOARD_ARGS=, TEST_ARGS=, BENCH_ARGS=, LOCK_ARGS=
.DEFAULT_GOAL := help
.PHONY: help setup lab dashboard test test-long bench reproduce picture lint lock clean
export PYTHON

help: ## this list
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{printf "%-12s %s\n", $$1, $$2}'

setup: ## make .venv from requirements.lock (the others do this first)
	@tools/setup

lab: setup ## open JupyterLab on the first notebook (LAB_ARGS=--no-browser)
	@tools/serve lab --ServerApp.root_dir="$(CURDIR)" $(LAB_ARGS) notebooks/00_start_here.ipynb

dashboard: setup ## serve the notebooks as pages without code (DASHBOARD_ARGS=--no-browser)
	@tools/serve dashboard $(DASHBOARD_ARGS) notebooks

test: ## style, types and every test but the long ones (TEST_ARGS="-k gantt")
	@tools/run_tests $(TEST_ARGS)

test-long: setup ## what takes minutes: fuzz, kill -9, full sizes, every property on many examples
	@.venv/bin/python -m pytest -m long --hypothesis-profile=long $(TEST_ARGS)
	@.venv/bin/python -m pytest -m "hypothesis and not long" --hypothesis-profile=many $(TEST_ARGS)

bench: setup ## measure the budgets of this machine (BENCH_ARGS=)
	@.venv/bin/python -m benchmarks $(BENCH_ARGS)

reproduce: setup ## the papers' evaluations, on the authors' data and on built-in data: what has no verdict in reproduction/results yet, hours; goes on where it was stopped, two at a time (REPRODUCE_ARGS="gavel.fig8")
	@.venv/bin/python -m reproduction run --size authors $(REPRODUCE_ARGS)
	@.venv/bin/python -m reproduction run --size full $(REPRODUCE_ARGS)

picture: setup ## make README's moving picture again, of a test's screenshots
	@WORKBENCH_SHOTS=build/shots .venv/bin/python -m pytest -q -n 0 tests/widgets/test_one_thing_browser.py
	@.venv/bin/python tools/moving_picture.py build/shots docs/one_thing.png

lint: setup ## style and types only
	@tools/lint

lock: setup ## bring requirements.lock in step with pyproject.toml (LOCK_ARGS=--upgrade for newer versions)
	@.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --extra test --extra reproduction --extra dask --extra build --custom-compile-command "make lock" $(LOCK_ARGS) \
	    pyproject.toml --output-file requirements.lock

clean: ## remove .venv and what tools left behind
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name .ipynb_checkpoints -type d -prune -exec rm -rf {} +
