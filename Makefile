# Every command of the project. `make` lists them.
# Needs Python 3.10 or later with venv, and g++. Everything else is installed into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
PEERS := .venv-peers
SANITIZE := build/sanitize
FUZZ := build/fuzz
CLANG := build/clang/usr/bin/clang++
CORE := $(wildcard core/*.cpp core/*.hpp tests/fuzz/*.cpp)
CODE := .ci src tests examples $(wildcard docs/*.py) $(wildcard benchmarks)

# Folders are listed with their files, so that a deleted file counts as a change.
SOURCES := pyproject.toml CMakeLists.txt $(shell find core src -name __pycache__ -prune -o -print 2>/dev/null)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
INSTALL := -m pip install -qq

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-all services peers fuzz lint types sanitize docs browser compilers check wheel bench format clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.package ## Build rankstone, compare three recommenders, and write a report
	@$(BIN)/python examples/demo.py

# The markers and the profiles of Hypothesis are in pyproject.toml and tests/conftest.py.
test: $(VENV)/.extras ## Run the quick tests (5 minutes); ARGS="tests/table -k ndcg" runs a part
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-quick} $(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

test-all: $(VENV)/.extras ## Run every test that needs no service, with more examples (15 minutes)
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-full} $(BIN)/python -m pytest -m "not service" -n auto --dist worksteal $(ARGS)

# Each file on one worker, so that a service starts once per worker at most.
services: $(VENV)/.extras ## Run the tests with Spark, PostgreSQL, Chromium, notebooks, compilers and training
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-full} $(BIN)/python -m pytest -m service -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

peers: $(PEERS)/.package ## Compare every preset with the real library, and train with it, in an environment with all of them
	$(PEERS)/bin/python -m pytest -m "" -rs tests/peers tests/hooks tests/arrays

fuzz: $(FUZZ)/core $(VENV)/.extras ## Fuzz the doors of the core and the file readers; SECONDS=600 goes on for so long in each
	$(FUZZ)/core -max_total_time=$(or $(SECONDS),60) -max_len=512 -artifact_prefix=$(FUZZ)/ -print_final_stats=1 $(FUZZ)/corpus
	RANKSTONE_FUZZ_SECONDS=$(or $(SECONDS),60) $(BIN)/python -m pytest -m "" tests/fuzz

lint: $(VENV)/.extras ## Check code style
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/clang-format --dry-run --Werror $(CORE)

types: $(VENV)/.extras ## Check types
	$(BIN)/mypy

# The preloaded libstdc++ lets the sanitizer see C++ exceptions. CPython does not free everything
# at exit, so leaks are not reported. With --capture=sys a report of the sanitizer reaches the terminal.
# Of threads it can only judge what it was built into, so it looks at nothing else; and it needs addresses where it
# expects them, which setarch -R sees to where that is allowed.
sanitize: $(SANITIZE)/address/.package $(SANITIZE)/thread/.package $(VENV)/.extras ## Run the tests of the C++ core under sanitizers
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	PYTHONMALLOC=malloc PYTHONPATH=$(SANITIZE)/address \
	$(BIN)/python -m pytest --capture=sys -m "" -n auto --dist worksteal \
		tests/core tests/table/test_definition.py tests/table/test_properties.py
	LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1 PYTHONPATH=$(SANITIZE)/thread \
	$$(setarch -R true 2> /dev/null && echo setarch -R) $(BIN)/python -m pytest --capture=sys tests/core/test_threads.py

docs: $(VENV)/.extras ## Build the handbook into build/site; a broken link or page is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

browser: ## Install Debian's Chromium, which the tests of pages look through, if there is none
	@command -v chromium > /dev/null || { echo "installing Debian's chromium"; \
		install="apt-get install -qq --yes --no-install-recommends chromium"; \
		$$install > /dev/null 2>&1 || { apt-get update -qq && $$install > /dev/null; }; }

compilers: ## Install Debian's compilers of the languages that metrics are compiled to, where there are none
	@lacking=; for pair in node:nodejs gcc:gcc javac:default-jdk-headless rustc:rustc go:golang-go; do \
		command -v $${pair%%:*} > /dev/null || lacking="$$lacking $${pair#*:}"; done; \
	[ -z "$$lacking" ] || { echo "installing Debian's$$lacking"; \
		install="apt-get install -qq --yes --no-install-recommends$$lacking"; \
		$$install > /dev/null 2>&1 || { apt-get update -qq && $$install > /dev/null; }; }

check: lint types browser compilers test-all services docs sanitize ## Run all of lint, types, test-all, services, docs and sanitize, as CI does (30 min)

wheel: ## Build the sdist and a wheel for every Python on this machine into dist/, and try each in an empty environment
	$(PYTHON) .ci/wheels.py

bench: $(BENCH)/.package ## Measure speed against other libraries
	$(BENCH)/bin/python benchmarks/run.py

format: $(VENV)/.extras ## Rewrite the code in the project's style
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)
	$(BIN)/clang-format -i $(CORE)

clean: ## Remove the environments, builds and caches
	rm -rf $(VENV) $(BENCH) $(PEERS) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up. The package is installed as a user would install it, again whenever a source changes.

$(VENV)/bin/pip $(BENCH)/bin/pip $(PEERS)/bin/pip:
	@$(PYTHON) -m venv $(@D:/bin=)

$(VENV)/.package: $(SOURCES) | $(VENV)/bin/pip
	@echo "installing rankstone into $(VENV)"
	@$(BIN)/python $(INSTALL) .
	@touch $@

# The package just installed satisfies its own name: only what the extras add is fetched.
$(VENV)/.extras: $(VENV)/.package
	@echo "installing the test and development tools into $(VENV)"
	@$(BIN)/python $(INSTALL) "rankstone[test,dev,docs]"
	@touch $@

$(SANITIZE)/%/.package: $(SOURCES) | $(VENV)/bin/pip
	@echo "building rankstone with the sanitizer of $* into $(@D)"
	@rm -rf $(@D)
	@$(BIN)/python $(INSTALL) --no-deps --target $(@D) \
		--config-settings=build-dir=build/cmake-$* --config-settings=install.strip=false \
		--config-settings=cmake.define.RANKSTONE_SANITIZE=$* \
		--config-settings=cmake.define.RANKSTONE_WERROR=ON .
	@touch $@

# What of the core needs no Python, with libFuzzer.
$(FUZZ)/core: tests/fuzz/core.cpp $(CORE) | $(CLANG)
	@echo "building the fuzzer of the core"
	@mkdir -p $(FUZZ)/corpus
	@LD_LIBRARY_PATH=build/clang/usr/lib/$$($(CXX) -print-multiarch) $(CLANG) -std=c++20 -O1 -g -pthread -DRANKSTONE_SANITIZE -Icore \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		$< $(filter-out core/bind%.cpp core/dicts.cpp core/error.cpp,$(wildcard core/*.cpp)) -o $@

# Debian's clang, unpacked and not installed, which needs no rights; a link to the system's, if it has one.
$(CLANG):
	@echo "fetching clang into build/clang"
	@mkdir -p $(@D) build/clang/debs/partial
	@if command -v clang++ > /dev/null; then ln -s "$$(command -v clang++)" $@; else \
		version=$$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$$/\1/p') && \
		apt-get install -qq --yes --download-only --no-install-recommends -o Debug::NoLocking=1 \
			-o Dir::Cache::archives=$(CURDIR)/build/clang/debs clang clang-$$version libclang-rt-$$version-dev && \
		for deb in build/clang/debs/*.deb; do dpkg-deb -x "$$deb" build/clang; done; fi

# torch comes first, at a fixed version, so that the peers that need it do not choose one. obp asks for an older
# Python than it needs; what it imports comes with the others. RecTools and RePlay ask for older releases of NumPy,
# pyarrow and Polars than the others do, and work with theirs.
OBP := --no-deps --ignore-requires-python obp==0.5.7
$(BENCH)/.package: $(SOURCES) | $(BENCH)/bin/pip
	@echo "installing rankstone and its peers into $(BENCH)"
	@$(BENCH)/bin/python -c "import torch" 2>/dev/null || $(BENCH)/bin/python $(INSTALL) torch==2.13.0
	@$(BENCH)/bin/python $(INSTALL) ".[bench]"
	@$(BENCH)/bin/python $(INSTALL) $(OBP)
	@$(BENCH)/bin/python $(INSTALL) --no-deps rectools replay-rec
	@touch $@

# RecTools asks for an older NumPy than cornac and jax do, and works with theirs.
$(PEERS)/.package: $(SOURCES) | $(PEERS)/bin/pip
	@echo "installing rankstone and the libraries it reproduces into $(PEERS)"
	@$(PEERS)/bin/python -c "import torch" 2>/dev/null || $(PEERS)/bin/python $(INSTALL) torch==2.13.0
	@$(PEERS)/bin/python $(INSTALL) ".[test,peers]"
	@$(PEERS)/bin/python $(INSTALL) --no-deps rectools
	@$(PEERS)/bin/python $(INSTALL) $(OBP)
	@touch $@
