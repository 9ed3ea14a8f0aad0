# Everything runs in .venv, which `make setup` makes; nothing needs to be installed by hand but
# Python 3.11 and g++ (cmake, ninja and clang-format come as Python packages).

PYTHON ?= python3.11
# More arguments for pip, such as an index that holds CPU-only builds of torch.
PIP_ARGS ?=
# Test processes; each runs torch on one thread.
WORKERS ?= 2

VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
STAMP := $(VENV)/.installed
CPP_BUILD := build/runtime_cpp
CPP_FILES = $(shell git ls-files --cached --others --exclude-standard -- '*.h' '*.hpp' '*.cpp' '*.c')

# The tools of the venv come first: subprocesses such as CMake find ninja there.
export PATH := $(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup test test-all test-arm demo bench lint lint-python lint-cpp format clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

setup: $(STAMP)  ## make .venv with the package, its command and the development tools

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) --editable '.[dev]'
	touch $@

test: setup  ## the tests that run in minutes
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m 'not slow and not arm' $(ARGS)

test-all: setup  ## every test of this machine's C++, the whole corpus included
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m 'not arm' $(ARGS)

test-arm: setup  ## cross-compile for 64-bit Arm and run there, emulated: examples, networks, corpus, bundle
	@{ command -v aarch64-linux-gnu-g++ && command -v qemu-aarch64; } >/dev/null || { \
	    echo "install the cross compiler and QEMU first: apt-get install g++-aarch64-linux-gnu qemu-user" >&2; exit 2; }
	$(BIN)/torch2cpp target list 2>/dev/null | grep -q 'aarch64-linux-gnu.*ready' || $(BIN)/torch2cpp target add aarch64-linux-gnu
	OMP_NUM_THREADS=1 TORCH2CPP_JOBS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m arm $(ARGS)

demo: setup  ## train an early-exit network on real digits, run it as C++
	$(BIN)/python examples/demo_digits.py $(ARGS)

bench: setup  ## measure all models against their rivals; an hour or more
	$(BIN)/python benchmarks/run.py $(ARGS)

lint: lint-python lint-cpp  ## ruff, mypy, clang-format, and runtime_cpp without warnings

lint-python: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-cpp: setup
	$(if $(CPP_FILES),$(BIN)/clang-format --dry-run -Werror $(CPP_FILES))
	$(BIN)/cmake -S . -B $(CPP_BUILD) -G Ninja -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror' \
	    -DCMAKE_PREFIX_PATH="$$($(BIN)/python -c 'import torch; print(torch.utils.cmake_prefix_path)')"
	$(BIN)/cmake --build $(CPP_BUILD)

format: setup  ## rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(CPP_FILES),$(BIN)/clang-format -i $(CPP_FILES))

clean:  ## remove what was built, and keep .venv
	rm -rf build out .pytest_cache .mypy_cache .ruff_cache .hypothesis
