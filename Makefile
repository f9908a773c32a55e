# Millrace. Type `make` for a list of what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# What is built must not depend on who builds it.
export GOFLAGS :=
export CGO_ENABLED := 1

# The pattern "work" stands for all packages of the modules in go.work.

# Tests run in their packages' folders, where a relative path leads elsewhere.
ifdef MILLRACE_RUNTIME
override export MILLRACE_RUNTIME := $(abspath $(MILLRACE_RUNTIME))
endif

MILLRACE := bin/millrace
# Without a readable repository (an archive, another owner) there is nothing to stamp.
BUILDVCS := $(shell git rev-parse HEAD >/dev/null 2>&1 && echo auto || echo false)
# Tests that need the runtime fail without it, except when called by hand.
WITH_RUNTIME := MILLRACE_TEST_RUNTIME=required
# The packages that hold C memory, directly or through the ones below them.
NATIVE := ./tfbridge/... ./graph/... ./loaders/... ./estimator/... ./serving/...
RACE_SMALL := . ./tfbridge ./tfrecord ./tfrecord/index ./internal/tool/install ./serving/batching
# A compiler that collects garbage four times less often takes a fifth less time. The tests
# themselves run as programs do.
COMPILING := GOGC=400
GO_TEST := $(COMPILING) go test -exec 'env -u GOGC' -vet=off
# The tests of package ops that run the operations of its templates.
OPS_ASAN := ^Test(TemplatesPass|Document|DebugString|ConcurrentNext|ErrorPlace|Arguments|Attribute|DerivedDatasets)$$
FUZZTIME := 20000x
SOAK := 1h
# Versions of clang-format break lines in different ways, so one of them decides.
CLANG_FORMAT_MAJOR := 14
CLANG_FORMAT ?= $(shell command -v clang-format-$(CLANG_FORMAT_MAJOR) || echo clang-format)
CXX_FILES = $$(find cgo internal -name '*.cc' -o -name '*.h' | sort)
HAVE_CLANG_FORMAT = $(CLANG_FORMAT) --version 2>/dev/null | grep -q 'version $(CLANG_FORMAT_MAJOR)\.'
NO_CLANG_FORMAT = echo "SKIPPED: C++ formatting. Install clang-format $(CLANG_FORMAT_MAJOR) \
(Debian: apt install clang-format-$(CLANG_FORMAT_MAJOR)) or set CLANG_FORMAT." >&2

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## The two commands of the README

.PHONY: demo
demo: runtime ## predict over examples/digits and print the accuracy
	@mkdir -p build
	$(MILLRACE) predict examples/digits/predict.json --model examples/digits/model --keep label --overwrite --out build/digits.ndjson
	@go run ./examples/digits

# Everything that must pass before a change lands, the cheap first. With CI=true,
# as .ci/run has it, more of what "make check" does comes before the tests. Vet has
# seen all packages then, so that go test need not vet them again.
.PHONY: test
test: $(if $(CI),before-tests,fmt-check vet native native-test-if-gtest fuzz-decoder-short service-test) ## run every test, with the runtime
	$(WITH_RUNTIME) $(GO_TEST) -count=1 -timeout 20m ./loaders work  # loaders takes longest: begun later, it would run alone at the end

# Pairs run side by side, because one of them waits: for the download of TensorFlow's
# library, or for one long compilation. The program comes first, so that not both compile it.
SIDE_BY_SIDE = $(MAKE) -j2 --output-sync=target
.PHONY: before-tests
before-tests: build
	@$(SIDE_BY_SIDE) native static
	@$(SIDE_BY_SIDE) native-test-if-gtest race-small
	@$(SIDE_BY_SIDE) fuzz-decoder-short service-test
	@PROGRAM=$(CURDIR)/$(MILLRACE) docker/root-test

.PHONY: static
static:
	@$(MAKE) -j1 fmt-check vet lint

.PHONY: service-test
service-test: native
	cd examples/service && $(WITH_RUNTIME) GOWORK=off $(GO_TEST) -count=1 ./...

## Building

.PHONY: build
build: need-go need-cc op-digest ## build bin/millrace
	@$(COMPILING) go build -buildvcs=$(BUILDVCS) -o $(MILLRACE) ./cmd/millrace

# FROM=FILE|DIR takes a local wheel, archive or directory. Where there is a C++
# compiler, it also compiles our own dataset operations, a few minutes, once.
.PHONY: runtime
runtime: need-pip build ## install TensorFlow's library, once
	@if [ -z "$${MILLRACE_RUNTIME:-}" ]; then $(MILLRACE) runtime install $(if $(FROM),--from '$(FROM)'); fi

# The program embeds cgo/datasets, and finds the library by the sources' digest.
.PHONY: op-digest
op-digest: need-go
	@go run ./gen/opdigest

# The library of our own dataset operations goes into the runtime's directory,
# where the program finds it; without it all works, but slower and no remote
# files. This prints the library's path, and fails where "make runtime" only
# says why not.
NATIVE_LIBRARY = CXX='$(CXX)' CXXFLAGS='-Wall -Wextra -Werror' $(MILLRACE) runtime native

.PHONY: native
native: need-pip need-cxx build ## compile cgo/datasets
	@if [ -z "$${MILLRACE_RUNTIME:-}" ]; then $(MILLRACE) runtime install --native=false; fi
	@$(NATIVE_LIBRARY)

# The C++ tests of what is in it and needs no TensorFlow.
NATIVE_TESTS = $(MAKE) -f cgo/datasets/tests.mk -j$(shell nproc)

.PHONY: native-test
native-test: need-gtest ## the C++ tests of cgo/datasets
	@$(NATIVE_TESTS) VARIANT=plain

.PHONY: native-asan
native-asan: need-gtest ## the same under the address and the undefined behaviour sanitizer
	@$(NATIVE_TESTS) VARIANT=asan

.PHONY: native-tsan
native-tsan: need-gtest ## the same under the thread sanitizer
	@$(NATIVE_TESTS) VARIANT=tsan

.PHONY: native-ops-test
native-ops-test: native need-gtest ## the dataset operations as TensorFlow runs them, in C++
	@$(MAKE) -f cgo/optest/tests.mk -j$(shell nproc) OPS="$$($(NATIVE_LIBRARY))"

# For make test, which must run where GoogleTest is not installed. With CI=true
# the same tests run under the sanitizers.
.PHONY: native-test-if-gtest
native-test-if-gtest: need-cxx native
	@if $(HAVE_GTEST); then $(MAKE) $(if $(CI),native-asan,native-test) native-ops-test; else echo "SKIPPED: the C++ tests. $(NO_GTEST)" >&2; fi

# Our decoders beside TensorFlow's own parsers, in one process. N mutants from
# SEED on; SANITIZE=address or undefined watches our side.
N := 10000000
SEED := 1
SANITIZE :=
.PHONY: fuzz-decoder
fuzz-decoder: native ## the decoders against TensorFlow's parsers, with N mutated records
	@mkdir -p build/fuzz/out
	@$(MAKE) -f cgo/fuzz/build.mk -j$(shell nproc) SANITIZE='$(SANITIZE)' OPS="$$($(NATIVE_LIBRARY))"
	build/fuzz/$(or $(SANITIZE),plain)/fuzz_decoder -n $(N) -seed $(SEED) -out build/fuzz/out

.PHONY: fuzz-decoder-short
fuzz-decoder-short:
	@$(MAKE) fuzz-decoder N=20000

# What package savedmodel reads of changed graphs beside what TensorFlow does.
.PHONY: fuzz-models
fuzz-models: N := 1000000
fuzz-models: runtime ## both readers of models, with N changed graphs
	$(WITH_RUNTIME) go test -count=1 -timeout 0 -run '^TestReadings$$' ./graph -v -mutants $(N) -mutant-seed $(SEED)

## Python

# Package millrace of python/, for one version of TensorFlow: the program and the
# library of operations are inside. build_wheel.py needs no other package.
.PHONY: wheel
wheel: native ## the Python wheel, in build/dist
	@python3 python/build_wheel.py --program $(MILLRACE) --library "$$($(NATIVE_LIBRARY))" --out build/dist

# PYTHON must have TensorFlow of the pinned version, and pytest. Without TensorFlow
# the tests are skipped: make test needs none.
PYTHON := python3
.PHONY: python-test
python-test: native ## the tests of python/, where PYTHON has TensorFlow and pytest
	@if $(PYTHON) -c 'import tensorflow, pytest' >/dev/null 2>&1; then \
		MILLRACE_PROGRAM=$(CURDIR)/$(MILLRACE) $(PYTHON) -m pytest -q -p no:cacheprovider python/tests -c python/pyproject.toml && \
		$(WITH_RUNTIME) go test -count=1 -timeout 30m ./loaders/portable -run "TestSameBatches|TestSkipped" -args -every-case -python "$$(command -v $(PYTHON))"; \
	else echo "SKIPPED: the tests of python/. PYTHON=$(PYTHON) lacks TensorFlow or pytest." >&2; fi

## Images

# docker/image says which variables it reads: ENGINE, BASE, VARIANT and others.
.PHONY: image
image: ## build the images of the program, of the service, and to build yours with
	docker/image

# The heavy test of the images; "make test" only reads the Dockerfiles.
.PHONY: image-test
image-test: need-go ## the digits and the service in the images, unprivileged, read-only, without network
	docker/image-test

# What "make image" puts into the default image, tested by chroot.
.PHONY: root-test
root-test: runtime ## the files of the default image, and the program in them, without an engine; needs root
	$(WITH_RUNTIME) docker/root-test

# Needs chromium, so it is apart from "make test", which tests the page without one.
.PHONY: browser-test
browser-test: runtime ## the server's page in a browser without a window; MILLRACE_SCREENSHOTS=DIR keeps pictures
	MILLRACE_TEST_RUNTIME=required go test -tags browser -count=1 -run TestBrowser ./serving/page

.PHONY: clean
clean: ## remove what was built; the runtime stays
	rm -rf bin build

## Checking

# All of CI, in the order of how fast it fails.
.PHONY: check
check: fmt-check vet lint test race asan ops-asan datasets-asan native-test native-asan native-tsan native-ops-test arm64 fuzz-decoder-short python-test root-test keras-page foreign-models calls guarded optimized stress cgocheck fuzz generate-clean ## everything below, and the tests

.PHONY: fmt
fmt: need-go ## format the Go and C++ files
	gofmt -w .
	@if $(HAVE_CLANG_FORMAT); then $(CLANG_FORMAT) -i $(CXX_FILES); else $(NO_CLANG_FORMAT); fi

.PHONY: fmt-check
fmt-check: need-go ## fail if a Go or C++ file is not formatted
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not formatted, type make fmt:" >&2; echo "$$bad" >&2; exit 1; fi
	@if $(HAVE_CLANG_FORMAT); then $(CLANG_FORMAT) --dry-run --Werror $(CXX_FILES) || { echo "not formatted, type make fmt" >&2; exit 1; }; \
		else $(NO_CLANG_FORMAT); fi

.PHONY: vet
vet: need-go need-cc ## go vet
	$(COMPILING) go vet work
	cd examples/service && $(COMPILING) GOWORK=off go vet ./...

.PHONY: lint
lint: need-go need-cc ## the rules of the house, and staticcheck
	go test ./internal/lint
	$(COMPILING) GOWORK=off go build -modfile=internal/tools.mod -o build/staticcheck honnef.co/go/tools/cmd/staticcheck
	$(COMPILING) build/staticcheck work

.PHONY: race
race: native ## the tests under the race detector
	$(WITH_RUNTIME) go test -race work

# The packages where goroutines meet, without those that take minutes each.
.PHONY: race-small
race-small: native ## the tests of the small packages under the race detector
	$(WITH_RUNTIME) $(GO_TEST) -race $(RACE_SMALL)

.PHONY: asan
asan: runtime ## the binding's tests under the address sanitizer, which finds leaked C memory
	ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 LSAN_OPTIONS=suppressions=$(CURDIR)/internal/asan.supp \
		$(WITH_RUNTIME) go test -asan -count=1 ./tfbridge/...

# The operations run in TensorFlow, as users run them, so orders, windows and buckets are
# among them. TensorFlow itself is not compiled for it.
.PHONY: datasets-asan
datasets-asan: native ## every dataset operation of ours under the address and the undefined behaviour sanitizer
	internal/test/sanitized.sh "$$($(NATIVE_LIBRARY))" ./graph/dataset/native ./loaders/build

# The templates in C++ of "millrace ops new", and what their tests allocate through them.
.PHONY: ops-asan
ops-asan: runtime need-cxx ## the operations that "millrace ops new" writes, under the address sanitizer
	ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 LSAN_OPTIONS=suppressions=$(CURDIR)/internal/asan.supp \
		$(WITH_RUNTIME) go test -asan -count=1 -run '$(OPS_ASAN)' ./internal/tool/ops

.PHONY: arm64
arm64: need-go need-pip ## the demo, the C++ tests and the cases for arm64, emulated on other processors
	internal/test/arm64.sh

.PHONY: optimized
optimized: native ## the tests of loaders with TensorFlow's optimizer, as users run them
	$(WITH_RUNTIME) MILLRACE_TEST_OPTIMIZED=1 go test -count=1 -timeout 1h ./loaders

.PHONY: guarded
guarded: native ## attacks by models, with a guard page beside pieces of C memory
	$(WITH_RUNTIME) MILLRACE_TEST_GUARDED=1 go test -exec $(CURDIR)/internal/test/guarded.sh -count=1 -timeout 2h \
		-run 'TestFailingTricks|TestOddArguments|TestOddHandles' ./graph ./gen/opeffect

.PHONY: calls
calls: native ## a sound call of each operation that a model may use, changed 60 times: none ends the process. A run that was stopped goes on; CALLS_FROM=N and CALLS_SHARD=K/N take a part
	mkdir -p build
	$(WITH_RUNTIME) MILLRACE_SOAK=1 CALLS_PROGRESS=$(CURDIR)/build/calls.progress go test -count=1 -timeout 6h -run 'TestSoundCalls|TestEndingCalls|TestOddCalls|TestChangedCalls|TestDeepCalls|TestRulesAreNeeded' ./gen/opeffect -v -changes 60
	rm build/calls.progress

.PHONY: foreign-models
foreign-models: native ## write models as their users export them, and load each, where PYTHON has TensorFlow
	@if $(PYTHON) -c "import keras, tensorflow" >/dev/null 2>&1; then \
		rm -rf build/foreign && $(PYTHON) testdata/foreign/further.py build/foreign && \
		$(WITH_RUNTIME) go test -count=1 -run '^TestExported$$' ./graph -exported $(CURDIR)/build/foreign; \
	else echo "SKIPPED: foreign models. PYTHON=$(PYTHON) lacks TensorFlow or Keras." >&2; fi

.PHONY: stress
stress: native ## the tests with a collection before each use of a C pointer
	$(WITH_RUNTIME) go test -tags stress $(NATIVE)

.PHONY: cgocheck
cgocheck: native ## the tests with checks for Go pointers in C memory
	GOEXPERIMENT=cgocheck2 $(WITH_RUNTIME) go test $(NATIVE)

.PHONY: fuzz
fuzz: runtime ## each fuzz target for FUZZTIME
	@grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do \
		for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$$dir"/*_test.go | sed 's/^func //'); do \
			echo "$$dir $$target"; \
			$(WITH_RUNTIME) go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$dir"; \
		done; \
	done

# SOAK=DURATION is for all together. The tests with long counts run to their
# end, half an hour on two processors. fuzz-decoder and fuzz-models get a quarter of the rest each,
# the fuzz targets share what is left then. With SOAK_PROGRESS=FILE a run that was
# interrupted, or failed and was mended, goes on with what has not passed.
SOAK_PROGRESS :=
.PHONY: soak
soak: native ## an hour of long tests, attacks and fuzzing, or SOAK=DURATION; SOAK_PROGRESS=FILE remembers what passed
	$(WITH_RUNTIME) go run ./internal/test/soakrun -for $(SOAK) $(if $(SOAK_PROGRESS),-progress '$(SOAK_PROGRESS)')

# Small mistakes made on purpose, one at a time: which does no test fail for?
BASE := main
.PHONY: mutate
mutate: native ## the mistakes in lines changed since BASE that no test would find
	$(WITH_RUNTIME) go run ./mutate -base '$(BASE)'

# SAMPLE of 0 takes every mutant, hours on two processors. BUDGET is the processor
# time for the tests of one mutant; one that outlives them counts as not found.
MUTATED := ./tfrecord/... ./savedmodel/... ./graph/dataset/... ./loaders/... ./estimator/...
SAMPLE := 40
BUDGET := 20s
.PHONY: mutation-score
mutation-score: native ## the share found of SAMPLE mistakes in each package of MUTATED, drawn with SEED; at least 85%
	$(WITH_RUNTIME) go run ./mutate -sample $(SAMPLE) -seed $(SEED) -budget $(BUDGET) -least 85 $(MUTATED)

# A Python with TensorFlow and Keras 3: MILLRACE_BENCH_PYTHON, or a virtual environment.
BENCH_PYTHON = $(abspath $(or $(MILLRACE_BENCH_PYTHON),build/bench/venv/bin/python))

# RECORD=1 records what the page's Python makes, for the test that needs no Python.
.PHONY: keras-page
keras-page: native ## every block of docs/keras.md, Python included, in one session
	go run ./bench -only environment
	MILLRACE_KERAS_PYTHON=$(BENCH_PYTHON) $(WITH_RUNTIME) go test -count=1 -run '^TestKerasPage$$' ./cmd/millrace $(if $(RECORD),-record-page)

.PHONY: keras-training
keras-training: native ## train models of Keras here and in Keras, and compare losses and speed
	go run ./bench -only keras -rounds $(or $(ROUNDS),1)

.PHONY: bench
bench: native ## our loaders beside Python TensorFlow's, on the same files
	go run ./bench

## Generated files

# The messages come from the wheel's descriptors, the table of operations and
# package graph/op from the library itself, and the reference of config keys
# from their declarations.
.PHONY: generate
generate: runtime ## write the generated files again
	@mkdir -p build/wheel
	python3 -m pip download --quiet --no-deps --require-hashes --requirement gen/protogen/requirements.txt --dest build/wheel
	wheel=$$(go run ./gen/fetchwheel build/wheel); \
		go run ./gen/protogen -from "$$wheel" -serving build/wheel/tensorflow_serving_api-*.whl -out internal/base
	$(WITH_RUNTIME) go test -count=1 ./gen/opspec ./internal/tool/opgen -update
	go test -count=1 ./loaders -run '^TestSchemaFiles$$' -update
	go test -count=1 ./gen/configdoc ./gen/callables -update

# FROM=DIR[:DIR] are the folders of the cases; testdata/README.md has more.
.PHONY: cases
cases: need-go ## pack the cases of the config format again, from FROM
	go run ./gen/casearchive -from '$(FROM)' -out testdata/cases.tar.gz

# Graphviz draws the same picture from the same source, but versions differ in coordinates.
.PHONY: pictures
pictures: ## draw the pictures of the docs again; needs Graphviz
	dot -Tsvg docs/pictures/flow.dot -o docs/pictures/flow.svg

.PHONY: generate-clean
generate-clean: ## fail if make generate changes the tree
	@state() { git diff HEAD | sha256sum; git status --porcelain; }; \
	before=$$(state); $(MAKE) generate; after=$$(state); \
	if [ "$$before" != "$$after" ]; then echo "make generate changed the tree" >&2; git status --short >&2; exit 1; fi

## What must be there

.PHONY: need-go need-cc need-cxx need-gtest need-pip
need-go:
	@command -v go >/dev/null || { \
		echo "Go is missing. Install Go $$(sed -n 's/^go //p' go.mod) or newer: https://go.dev/doc/install" >&2; exit 1; }

need-cc: need-go
	@cc=$$(go env CC); command -v $${cc%% *} >/dev/null || { \
		echo "A C compiler is missing: there is no $$cc. Install one (Debian: apt install build-essential) or set CC." >&2; exit 1; }

need-cxx: need-go
	@command -v $(firstword $(CXX)) >/dev/null || { \
		echo "A C++ compiler is missing: there is no $(firstword $(CXX)). Install one (Debian: apt install build-essential) or set CXX." >&2; exit 1; }

HAVE_GTEST = echo '\#include <gtest/gtest.h>' | $(CXX) -x c++ -std=c++17 -fsyntax-only - >/dev/null 2>&1
NO_GTEST := GoogleTest is missing. Install it (Debian: apt install libgtest-dev).

need-gtest: need-cxx
	@$(HAVE_GTEST) || { echo "$(NO_GTEST)" >&2; exit 1; }

# Nothing is downloaded with pip once there is a runtime.
need-pip:
	@[ -n "$${MILLRACE_RUNTIME:-}$(FROM)" ] || ls "$${XDG_CACHE_HOME:-$$HOME/.cache}"/millrace/runtime/*/runtime.json >/dev/null 2>&1 || \
		python3 -m pip --version >/dev/null 2>&1 || pip3 --version >/dev/null 2>&1 || pip --version >/dev/null 2>&1 || { \
		echo "pip is missing; TensorFlow's library is downloaded with it. Install Python 3 with pip (Debian: apt install python3-pip)." >&2; exit 1; }
