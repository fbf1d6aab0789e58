# make help lists the targets.
SHELL = bash
.SHELLFLAGS = -o pipefail -ec
GO ?= go
# Packages with goroutines: make race covers them.
SHELLS = ./executor/... ./agent/... ./apiserver/... ./controllers/... ./drain/... ./informers/... ./internal/journal/... ./load/...

.PHONY: help build test vet lint race check release picture bench soak test-v2 bench-pressure bench-pods fuzz-parity bench-parity bench-descheduler e2e-kube fmt

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the binary, ./berth
	$(GO) build -o berth ./cmd/berth

test: ## all tests, as the README says
	$(GO) test ./...

vet: ## gofmt and go vet
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run make fmt"; exit 1; }
	$(GO) vet ./...

lint: ## golangci-lint, as .golangci.yml says, on all modules
	dir=$$(mktemp -d) && (cd tools && $(GO) build -o $$dir/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint) && \
	for m in . parity parity/descheduler; do (cd $$m && $$dir/golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done && rm -r $$dir

release: ## static binaries with checksums in dist/
	.ci/release dist

picture: ## draws docs/images/explain.svg
	.ci/picture

race: ## the shells under the race detector
	CGO_ENABLED=1 $(GO) test -race $(SHELLS)

check: ## what CI runs
	bash .ci/run

bench: ## CPU and allocations of a decision at 500, 5,000 and 50,000 nodes
	$(GO) test ./bench -run '^$$' -bench . -benchtime 20000x -timeout 60m

soak: ## the long kill loops, big seeds and 100,000 simulations; prints their counts
	BERTH_SOAK=1 $(GO) test ./engine/... ./sim/... ./drain ./agent/pressure ./e2e -count 1 -v -timeout 180m -run 'Soak|Fuzz|Kill|Equal|Matches|Suggestions|RankSet|BucketIndex|IntSet' | grep -E '^(---|ok|FAIL|panic)|SOAK|soak:'

bench-pressure: ## a node out of memory: crossing to SIGKILL beside polls of 1 s and 10 s (ARGS=-quick: a smoke test, ARGS=-help: choices)
	CGO_ENABLED=0 $(GO) run ./bench/pressure $(ARGS)

bench-pods: ## the embedded runtime: start and removal of 100 pods on one node, memory of their shims
	CGO_ENABLED=0 $(GO) run ./bench/pods $(ARGS)

test-v2: ## the tests of cgroup v2 in an emulated machine that has it; writes docs/performance/cgroup-v2.txt
	.ci/test-v2 docs/performance/cgroup-v2.txt

N ?= 1000
SEED ?= 1
fuzz-parity: ## N random cases from SEED: Berth's answers beside the real kube-scheduler's (the first build takes minutes)
	dir=$$(mktemp -d) && \
	(cd parity && CGO_ENABLED=0 $(GO) run ./vectorgen -n $(N) -seed $(SEED) -o $$dir) && \
	CGO_ENABLED=0 $(GO) test ./conformance -count 1 -v -run 'TestScheduling(Messages)?$$' -args -vectors $$dir && rm -r $$dir

ARGS ?=
bench-parity: ## Berth beside the real kube-scheduler and the real descheduler, in process and end to end; takes an hour (ARGS=-quick: a smoke test, ARGS=-help: choices)
	cd parity && CGO_ENABLED=0 $(GO) run ./bench $(ARGS)
	$(MAKE) bench-descheduler ARGS=$(filter -quick,$(ARGS))

bench-descheduler: ## the last stage of bench-parity alone (ARGS=-quick: a smoke test, ARGS=-help: choices)
	cd parity/descheduler && CGO_ENABLED=0 $(GO) run . $(ARGS)

e2e-kube: ## berth scheduler, controller and descheduler on the real kube-apiserver and etcd: 1,000 pods, budgets, taints, lost nodes; the descheduler beside the real kube-scheduler (the first build takes minutes; ARGS="-only descheduler")
	cd parity && CGO_ENABLED=0 $(GO) run ./cluster $(ARGS)

fmt: ## gofmt all files
	gofmt -w $$(git ls-files '*.go')
