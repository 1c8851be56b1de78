# Every target sets up what it needs by itself, in $(VENV), from Python 3.11 or newer and a C++ compiler. What has been
# set up is remembered in stamp files there, so a second run only does what a change has made necessary.
PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
TEST_PROCESSES ?= auto
RUN := $(VENV)/bin/python
CLIENTS := $(VENV)-clients
PACKAGES := .venv-packages
# What has once been compiled is used again, by the wheel that the tests build, too; and by the many processes of the
# tests that import torch, what Python has compiled.
export MINDTORCH_BUILD_CACHE := $(CURDIR)/build/cache
unexport PYTHONDONTWRITEBYTECODE

SOURCES := pyproject.toml setup.py $(shell find include mindtorch -type f -not -path '*/_gen/*' -not -path '*/aclnnop/*' -not -path '*/toolkit/*' \
	\( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.toml' -o -name 'aten.txt' -o -name '*.jsonl' -o -name '*.h' -o -name '*.def' -o -name '*.inc' \
	-o -path '*/_sim/*.cpp' -o -path '*/codegen/*.py' -o -path '*/_stubs/*' \))
# Prints one list of requirements of pyproject.toml: `build`, with what the package needs when it runs, or a group.
REQUIREMENTS := import sys, tomllib; t = tomllib.load(open("pyproject.toml", "rb")); \
	t["dependency-groups"]["build"] = t["build-system"]["requires"] + t["project"]["dependencies"]; \
	print(*t["dependency-groups"][sys.argv[1]], sep="\n")

.PHONY: help demo train-digits train-gpt
.PHONY: test test-packaging test-suite test-processors test-queue quick coverage sanitizers valgrind lint format build wheel wheels test-clients test-packages
.PHONY: bench bench-save bench-compare bench-report
.PHONY: test-packages-own test-pytorch scan-packages fuzz pyright docs clean distclean
.DELETE_ON_ERROR:

help:            ## this list
	@sed -n 's/^\([a-z-]*\): .*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(VENV)/.package            ## classify handwritten digits on the NPU (simulated where there is none)
	$(RUN) examples/digits.py

train-digits: $(VENV)/.package $(VENV)/.examples            ## train a convolutional network on handwritten digits, on the NPU
	$(RUN) examples/train_digits.py --plot losses.png

train-gpt: $(VENV)/.package $(VENV)/.examples            ## train a small GPT on Python's own sources, on the NPU
	$(RUN) examples/train_gpt.py

SUITE = $(RUN) -m pytest --numprocesses $(TEST_PROCESSES) $(PYTEST_ARGS)

test: test-packaging test-suite            ## the whole test suite, without sanitizers and valgrind

test-packaging: $(VENV)/.package $(VENV)/.test            ## the source archive and the wheel, alone: other tests share the tree
	$(RUN) -m pytest $(PYTEST_ARGS) tests/test_packaging.py

# Launches go by the queue, as they do by default, and CANN keeps executors; in `make test-queue` neither.
test-suite: $(VENV)/.package $(VENV)/.test $(VENV)/.examples            ## all other tests
	$(SUITE) --ignore tests/test_packaging.py

quick: $(VENV)/.package $(VENV)/.test $(VENV)/.examples            ## a small subset, in seconds
	$(RUN) -m pytest -m quick $(PYTEST_ARGS)

# The least that the libraries below torch and NumPy may use of the processor; `make test` lets them use all of it.
LEAST_PROCESSOR := ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 \
	OPENBLAS_CORETYPE=$(if $(filter x86_64,$(shell uname -m)),Prescott,ARMV8)
PRECISION_TESTS := tests/ops/test_ops.py tests/ops/test_edge_cases.py tests/ops/test_number_rounding.py \
	tests/nn/test_parametrize.py tests/amp/test_autocast_lists.py \
	-k "(test_forms and float16) or test_edge_cases or test_number_rounding or test_parametrize or test_layers"

test-processors: $(VENV)/.package $(VENV)/.test $(VENV)/.examples            ## what depends on precision, as on the least of processors; `make test` uses all of this one
	$(LEAST_PROCESSOR) $(SUITE) $(PRECISION_TESTS)

# What depends on who launches first, with the other combinations of queue and cache.
QUEUE_TESTS ?= $(patsubst %,tests/npu/test_%.py,streams npu_streams_events copies threads graphs graph_random) \
	tests/npu/test_faults.py::test_any_call_may_fail_once -k "not cpu"

test-queue: $(VENV)/.package $(VENV)/.test $(VENV)/.examples            ## what used the NPU in `make test` once more, without queue and cache; streams, graphs and faults with one of both
	TASK_QUEUE_ENABLE=0 MINDTORCH_SIM_OP_CACHE=0 $(SUITE) --used-npu --ignore tests/test_packaging.py
	TASK_QUEUE_ENABLE=0 MINDTORCH_SIM_OP_CACHE=1 $(SUITE) $(QUEUE_TESTS)
	TASK_QUEUE_ENABLE=1 MINDTORCH_SIM_OP_CACHE=0 $(SUITE) $(QUEUE_TESTS)

coverage: $(VENV)/.package $(VENV)/.test $(VENV)/.examples $(VENV)/.coverage            ## the suite's coverage of the Python sources, which must not fall below the floor in pyproject.toml
	$(RUN) -m pytest --numprocesses $(TEST_PROCESSES) --cov --cov-report=term:skip-covered $(PYTEST_ARGS) --ignore tests/test_packaging.py

sanitizers: $(VENV)/.package $(VENV)/.test            ## the simulator and the allocator under ASan, UBSan and TSan
	$(RUN) -m pytest -m sanitizers --numprocesses $(TEST_PROCESSES) tests/sim tests/npu $(PYTEST_ARGS)

valgrind: $(VENV)/.package $(VENV)/.test            ## the same under valgrind
	@command -v valgrind > /dev/null || { echo "make valgrind: install the package valgrind" >&2; exit 1; }
	$(RUN) -m pytest -m valgrind --numprocesses $(TEST_PROCESSES) tests/sim $(PYTEST_ARGS)

# Generated code is not ours to format; the declarations in include/ keep the vendor's argument order one to a line.
NATIVE = $(shell find mindtorch/_sim tests/sim bench examples -name '*.h' -o -name '*.cpp' -o -name '*.c' | grep -v -e /toolkit/ -e /build/)

# cython-lint calls `dtype` and `device` as argument names shadowing; they are torch's.
CYTHON = $(shell find mindtorch bench \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' \) -not -path '*/_gen/*' -not -path '*/build/*')

lint: $(VENV)/.lint            ## ruff, cython-lint, clang-format, mypy
	$(VENV)/bin/ruff check .
	! PATH="$(abspath $(VENV))/bin:$$PATH" cython-lint $(CYTHON) 2>&1 | grep -v 'shadows global import'
	$(VENV)/bin/clang-format --dry-run -Werror $(NATIVE)
	cd mindtorch/_ops && $(abspath $(RUN)) -m codegen
	$(VENV)/bin/mypy

# From npm's registry; the tests use it where it is, beside mypy.
PYRIGHT := 1.1.414
build/pyright/package:
	@mkdir -p build/pyright
	cd build/pyright && npm pack --silent pyright@$(PYRIGHT) && tar xzf pyright-$(PYRIGHT).tgz

pyright: $(VENV)/.package $(VENV)/.test build/pyright/package            ## pyright on the scripts of tests/typing (needs node and npm)
	$(RUN) -m pytest $(PYTEST_ARGS) tests/typing -k pyright

format: $(VENV)/.lint            ## lets ruff and clang-format mend what they can
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/clang-format -i $(NATIVE)

bench: $(VENV)/.package $(VENV)/.test $(VENV)/.bench $(VENV)/.examples            ## host cost of ops and of memory, beside the C floor and torch; kernels beside NumPy
	$(RUN) -m bench.report
	$(RUN) -m bench.rows
	$(RUN) -m bench.training
	$(RUN) -m bench.host
	$(RUN) -m bench.gpt
	$(RUN) -m bench.cpu
	$(RUN) -m bench.loading
	$(RUN) -m bench.allocator
	$(RUN) -m bench.replay
	$(RUN) -m bench.memory
	$(RUN) -m bench.kernels

bench-save: $(VENV)/.package $(VENV)/.test $(VENV)/.bench            ## time operators by rung and save the run in .benchmarks
	$(RUN) -m pytest bench --benchmark-autosave

THRESHOLD ?= 0.25

bench-compare: $(VENV)/.package $(VENV)/.test $(VENV)/.bench            ## run beside the last saved run; fails where a ratio to a peer has grown by THRESHOLD
	$(RUN) -m pytest bench --benchmark-autosave --benchmark-compare
	$(RUN) -m bench.saved compare --threshold $(THRESHOLD)

bench-report:            ## build/bench.html: the saved runs as plots
	$(RUN) -m bench.saved report

build: $(VENV)/.package            ## compile in place what has changed

wheel: $(VENV)/.build            ## dist/mindtorch-*.whl
	$(RUN) -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .

# 8.5.0 alone: make wheels CANN=8.5.0
CANN ?= 8.0.0 8.1.RC1 8.2.RC1 8.3.RC1 8.5.0 9.0.0 9.1.0

# By the compilers of the package ziglang, which link with glibc 2.28 on any machine: make wheels PLATFORM=manylinux_2_28_x86_64
PLATFORM =
ifdef PLATFORM
# Debian's Python keeps a part of its headers beside its folder, where zig does not look by itself.
BESIDE = $(shell $(RUN) -c 'import os, sysconfig; print(os.path.dirname(sysconfig.get_path("include")))')
# Without optimisation zig adds the runtime of a sanitizer to each library: too much thread-local memory to be loaded.
ZIG = $(abspath $(RUN)) -m ziglang $(1) -target $(PLATFORM:manylinux_2_28_%=%)-linux-gnu.2.28 -fno-sanitize=undefined -idirafter$(BESIDE)
wheels: export CC = $(call ZIG,cc)
wheels: export CXX = $(call ZIG,c++)
# Not the options with which the interpreter was linked: zig does not know all of Debian's.
wheels: export LDSHARED = $(CC) -shared
wheels: export LDCXXSHARED = $(CXX) -shared
endif

wheels: $(VENV)/.build $(VENV)/.wheels            ## dist/mindtorch-*-manylinux*.whl: for no release of CANN in particular, and for each in the list CANN
	rm -rf build/wheels
	for release in "" $(CANN); do \
		MINDTORCH_CANN=$$release $(RUN) -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheels . \
			|| exit 1; \
	done
	PATH="$(abspath $(VENV))/bin:$$PATH" auditwheel repair $(addprefix --plat ,$(PLATFORM)) --wheel-dir dist build/wheels/*.whl

test-clients: $(VENV)/.package $(VENV)/.test            ## the published torch_npu wheel on the simulated toolkit, and mindtorch beside it
	@if [ "$$(uname -m)" != x86_64 ] || ! $(RUN) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then \
		echo "test-clients: left out, torch_npu is published for x86_64 and Python 3.11 only"; \
	else \
		$(MAKE) --no-print-directory $(CLIENTS)/.ready && \
		for script in basic models graphs op_cache; do \
			$(CLIENTS)/bin/python tests/clients/run.py --toolkit "$$($(RUN) -m mindtorch.sim)" \
				tests/clients/$$script.py || exit 1; \
		done; \
		$(RUN) tests/clients/compare.py --clients $(CLIENTS)/bin/python --toolkit "$$($(RUN) -m mindtorch.sim)"; \
	fi

test-packages: $(VENV)/.package $(VENV)/.test $(PACKAGES)/.ready            ## programs with published packages (timm, transformers ...), with torch and with mindtorch
	$(RUN) tests/clients/packages/compare.py --packages $(PACKAGES)/bin/python

test-packages-own: $(VENV)/.package $(VENV)/.test $(PACKAGES)/.ready            ## the tests that published packages bring with them, with torch and with mindtorch
	$(RUN) tests/clients/packages/own_tests.py --packages $(PACKAGES)/bin/python

test-pytorch: $(VENV)/.package $(VENV)/.test            ## PyTorch's own tests, with torch and with mindtorch on both devices
	$(RUN) tests/pytorch/run.py

scan-packages: $(VENV)/.package $(VENV)/.test            ## which of 210 published packages find the names of torch that their import needs
	$(RUN) tests/names/scan_packages.py

SECONDS ?= 120
SEED ?=

fuzz: $(VENV)/.package $(VENV)/.test            ## random programs beside torch, and senseless calls, for SECONDS, from SEED
	$(RUN) tests/fuzz/run.py --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(FUZZ_ARGS)

docs: $(VENV)/.package $(VENV)/.docs            ## the documentation site in docs/_build; warnings are errors
	MINDTORCH_NPU=off $(RUN) -m sphinx -W --keep-going --quiet --builder html docs docs/_build
	@echo "docs/_build/index.html"

clean:            ## take away all that a build makes
	rm -rf build dist bench/build docs/_build docs/reference *.egg-info $(VENV)/.package $(VENV)/.installed mindtorch/_sim/toolkit include/aclnnop
	grep -rl --include='*.pyi' '^# Generated by' mindtorch | xargs rm -f
	find mindtorch -name _gen -type d -prune -exec rm -rf {} +
	find mindtorch \( -name '*.so' -o -name '*.pyx' \) | while read -r f; do \
		case $$f in *.so) rm -f "$$f";; *) rm -f "$${f%.pyx}.c" "$${f%.pyx}.cpp";; esac; done
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean            ## and the virtual environments
	rm -rf $(VENV) $(CLIENTS) $(PACKAGES) .pytest_cache .ruff_cache .mypy_cache .benchmarks

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit("mindtorch needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.build $(VENV)/.wheels $(VENV)/.coverage $(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.examples $(VENV)/.docs: $(VENV)/.%: $(VENV)/pyvenv.cfg pyproject.toml
	$(RUN) -c '$(REQUIREMENTS)' $* > $(VENV)/$*.txt
	$(RUN) -m pip install --no-compile --progress-bar off -r $(VENV)/$*.txt
	@touch $@

# The compilers first, who say how far they are; pip, which would keep that to itself, finds all built.
$(VENV)/.package: $(SOURCES) | $(VENV)/.build
	$(RUN) setup.py -q build_ext --inplace
	@test $(VENV)/.installed -nt pyproject.toml || $(MAKE) --no-print-directory $(VENV)/.installed
	@touch $@

$(VENV)/.installed: pyproject.toml
	$(RUN) -m pip install --quiet --no-build-isolation --no-deps -e .
	@touch $@

# With the torch and the NumPy of the tests.
$(CLIENTS)/.ready: | $(VENV)/.test
	$(RUN) -m venv --without-pip $(CLIENTS)
	$(RUN) -c 'import sys, sysconfig; open(sys.argv[1], "w").write(sysconfig.get_path("purelib"))' \
		"$$($(CLIENTS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
	$(RUN) -m pip --python $(CLIENTS)/bin/python install --quiet --no-compile --no-deps torch_npu==2.13.0
	@touch $@

# Without dependencies, so that no torch comes in: the list is complete.
$(PACKAGES)/.ready: tests/clients/packages/requirements.txt | $(VENV)/.build
	$(RUN) -m venv $(PACKAGES)
	$(PACKAGES)/bin/python -m pip install --quiet --no-deps -r $<
	@touch $@
