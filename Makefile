# Lathe: `make run` times a real model on this machine, `make test` checks everything.
# No target here needs a GPU.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
GO          ?= go
LATHE       := bin/lathe
TOKLIB      := third_party/tokenizers/lib/libtokenizers.a
VERSION     := $(shell sed -n 's/^\#\# \[\([0-9][^]]*\)\].*/\1/p' CHANGELOG.md | head -n 1)
LDFLAGS     := -X main.version=$(VERSION)
FUZZTIME    ?= 10s
# The generated NVML bindings warn about deprecated enums on every cold build.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations

.DEFAULT_GOAL := build
.PHONY: help run test test-all build deps check-tools go-test race race-load native-test asan nocgo notokenizer cross vet-cuda lint acceptance fuzz bench clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

run: build ## time the small real model at batch 1 and 8, and let it say a sentence
	@model=$$($(LATHE) model fetch smollm2-135m | tail -n 1); \
	raw=lathe-runs/$$(date -u +%Y%m%dT%H%M%SZ)-make-run.jsonl; \
	$(LATHE) bench one-batch --model "$$model" --batch-size 1 8 --input-len 128 --output-len 32 \
		--run-name make-run --result-filename lathe-runs/one-batch.jsonl --raw "$$raw"; \
	echo; $(LATHE) generate "The capital of France is" --model "$$model" --max-tokens 24; \
	echo; echo "raw samples: $$raw (lathe report $$raw prints the table again)"

test: deps lint go-test race native-test nocgo notokenizer ## every test: Go, Go under -race, C++ under ASan and UBSan
	@echo "make test: everything passed"

test-all: test race-load asan vet-cuda cross ## make test, and what needs other builds: -asan, the tag cuda, aarch64

build: deps include/lathe/operator.h ## leave bin/lathe, and include/lathe/operator.h for kernels
	@$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(LATHE) ./cmd/lathe

include/lathe/operator.h: engine/native/operator.h
	@mkdir -p include/lathe
	@cp engine/native/operator.h $@

deps: check-tools $(TOKLIB) ## install what is pinned: Go modules, the tokenizer library
	@$(GO) mod download

check-tools:
	@third_party/check-tools.sh

$(TOKLIB): third_party/tokenizers/build.sh
	@third_party/tokenizers/build.sh

lint: ## gofmt and go vet
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted" >&2; exit 1; fi
	$(GO) vet ./...

go-test: deps
	$(GO) build ./...
	$(GO) test -timeout 30m ./...

# The real model's goldens are not repeated under the race detector: they take minutes and race nothing.
# The load client's tests talk to servers on this machine by the clock: they run once in go-test, and
# under the race detector in test-all.
race: deps ## the Go tests under the race detector
	$(GO) test -race -short -timeout 30m $$($(GO) list ./... | grep -v '/bench/load$$')

race-load: deps
	$(GO) test -race -short -timeout 30m ./bench/load

native-test: ## the C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@mkdir -p build
	cmake -S . -B build/sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLATHE_SANITIZE=address,undefined
	cmake --build build/sanitize -j 2
	ctest --test-dir build/sanitize --output-on-failure

asan: ## the Go tests of the native package with AddressSanitizer
	$(GO) test -asan -short ./engine/native ./engine

nocgo: ## what runs without cgo: vet on three platforms, and the tests that need no engine
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) vet ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	CGO_ENABLED=0 $(GO) test ./bench ./bench/stat ./bench/step ./bench/metric ./bench/serving ./bench/report ./cuda/device ./engine/native

notokenizer: ## a build without Rust
	$(GO) vet -tags notokenizer ./...
	$(GO) build -tags notokenizer -o build/lathe-notokenizer ./cmd/lathe
	build/lathe-notokenizer bench one-batch --model preset:tiny --input-len 8 --output-len 4 --raw build/notokenizer-$$$$.jsonl --result-filename build/notokenizer.jsonl >/dev/null

cross: ## compile the portable path for aarch64 with Debian's cross compiler
	@command -v aarch64-linux-gnu-g++ >/dev/null || { echo "error: aarch64-linux-gnu-g++ is missing" >&2; echo "hint: sudo apt-get install -y g++-aarch64-linux-gnu" >&2; exit 1; }
	CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ GOOS=linux GOARCH=arm64 CGO_ENABLED=1 $(GO) vet -tags notokenizer ./engine/...
	CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ GOOS=linux GOARCH=arm64 CGO_ENABLED=1 $(GO) build -tags notokenizer -o build/lathe-arm64 ./cmd/lathe

vet-cuda: ## vet, link and test the Go code behind the tag cuda on a fake driver
	third_party/cuda/vet-tags.sh

acceptance: deps ## compare with a real engine: 60 runs of equal plug-ins, 20 of each planted change; on a quiet machine
	LATHE_ACCEPTANCE=60,20 $(GO) test -run 'TestAcceptanceOfCompare' -count 1 -timeout 4h -v ./cmd/lathe

fuzz: deps ## every fuzz target for FUZZTIME (10s)
	@$(GO) list -f '{{$$p := .}}{{range .TestGoFiles}}{{$$p.Dir}}/{{.}} {{$$p.ImportPath}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$$p.Dir}}/{{.}} {{$$p.ImportPath}}{{"\n"}}{{end}}' ./... | \
	while read -r file pkg; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
			echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$pkg"; \
		done; \
	done

bench: deps ## benchmarks of the harness itself
	$(GO) test -run '^$$' -bench . -benchmem ./bench/step ./engine/native

clean: ## remove what was built here; the cache stays
	rm -rf bin build include third_party/tokenizers/lib
