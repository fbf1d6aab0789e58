# make help lists the targets.
SHELL = bash
.SHELLFLAGS = -o pipefail -ec
GO ?= go
# RACE_PACKAGES are the packages with goroutines.
RACE_PACKAGES = ./executor/... ./agent/... ./apiserver/... ./controllers/... ./drain/... ./informers/... ./internal/journal/... ./internal/recording/... ./load/... ./ui/...

# RACE_EXCEPT matches those of them that have only functions without state.
RACE_EXCEPT = /(downwardapi|openapi|podvalidation|scheme|tables|validation)(/|$$)

.PHONY: image packages help build test vet lint race race-build check release reference picture ui browser screenshots bench soak test-v2 bench-pressure bench-berthtest bench-pods bench-definitions bench-page bench-history critest fuzz-parity bench-parity bench-descheduler e2e-kube conformance software fmt

help: ## lists the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## builds ./berth
	$(GO) build -o berth ./cmd/berth

test: ## all tests
	$(GO) test ./...

vet: ## checks gofmt and go vet
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run make fmt"; exit 1; }
	$(GO) vet ./...

LINT_MODULES ?= . parity parity/descheduler berthtest/examples packaging deploy/installtest conformance/suite/coredns
lint: ## golangci-lint on all modules (GOLANGCI_LINT=PROGRAM that is already built)
	dir=$$(mktemp -d); trap "rm -r $$dir" EXIT; linter=$(GOLANGCI_LINT); \
	[ -n "$$linter" ] || { linter=$$dir/golangci-lint; (cd tools && $(GO) build -o $$linter github.com/golangci/golangci-lint/v2/cmd/golangci-lint); }; \
	for m in $(LINT_MODULES); do (cd $$m && GOGC=400 GOMEMLIMIT=6GiB $$linter run --config $(CURDIR)/.golangci.yml ./...) || exit 1; done

release: ## builds static binaries with checksums in dist/
	.ci/release dist

image: ## builds the container image in dist/ from Go alone (PUSH=REFERENCE pushes it)
	TARGETS="linux/amd64 linux/arm64" .ci/release dist
	.ci/image dist $(PUSH)

packages: ## builds deb and rpm in dist/
	TARGETS="linux/amd64 linux/arm64" .ci/release dist
	.ci/packages dist

reference: ## writes the generated documents in docs/reference
	$(GO) test $$(git grep -l testkit/reference -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's#^#./#') -run Reference -update

picture: ## draws docs/images/explain.svg
	.ci/picture

ui: ## builds the web page: ui/dist from ui/web, requires npm
	.ci/page ui/dist

screenshots: ## pictures of the web page in docs/images, requires npm and chromium
	.ci/screenshots

browser: ## tests of the web page in Chromium, requires npm and chromium
	.ci/browser

race: ## tests of packages with goroutines under the race detector
	dir=$(RACE_DIR); [ -n "$$dir" ] || { dir=$$(mktemp -d); trap "rm -r $$dir" EXIT; $(MAKE) race-build RACE_DIR=$$dir; }; \
	BERTH_BUILT=$${BERTH_BUILT:-$$dir/programs} .ci/run-tests $$dir

race-build: # builds the tests of make race in RACE_DIR
	CGO_ENABLED=1 .ci/build-tests $(RACE_DIR) -race -gcflags='all=-l -dwarf=false' -gcflags=std=-dwarf=false -gcflags=github.com/berthproject/...=-dwarf=false $$($(GO) list $(RACE_PACKAGES) | grep -vE '$(RACE_EXCEPT)' | sed 's#^github.com/berthproject/berth#.#')

check: ## runs CI
	bash .ci/run

bench: ## CPU and allocations of a decision at 500, 5,000 and 50,000 nodes
	$(GO) test ./bench -run '^$$' -bench . -benchtime 20000x -timeout 60m

soak: ## long kill loops, many seeds and 100,000 simulations; prints counts
	BERTH_SOAK=1 $(GO) test ./engine/... ./sim/... ./drain ./agent/pressure ./agent/image/store ./agent/pods ./agent/runtime/embedded ./agent/volume ./berthtest ./e2e ./e2e/tenancy -count 1 -v -timeout 180m -skip '^TestHostilePods$$' -run 'Soak|RealNodes|Fills|OpenB|Replay|Fuzz|Kill|Hostile|PlanVolumes|ForceDeletedPod|Equal|Matches|Suggestions|RankSet|BucketIndex|IntSet' | grep -E '^(---|ok|FAIL|panic)|SOAK|soak:'
	BERTH_SOAK=1 $(GO) test ./e2e -count 1 -v -timeout 30m -run '^TestHostilePods$$' | grep -E '^(---|ok|FAIL|panic)|SOAK|soak:'

bench-pressure: ## memory pressure: time to SIGKILL, compared with polling (ARGS=-quick, -help)
	CGO_ENABLED=0 $(GO) run ./bench/pressure $(ARGS)

bench-definitions: ## memory of the API server with 0, 50 and 200 CustomResourceDefinitions (ARGS=-help)
	CGO_ENABLED=0 $(GO) run ./e2e/definitions $(ARGS)

bench-berthtest: ## start time and memory of berthtest next to envtest; builds kube-apiserver (ARGS=-help)
	dir=$$(mktemp -d) && trap 'rm -r '$$dir EXIT && \
	(cd parity && CGO_ENABLED=0 $(GO) build -o $$dir/etcd go.etcd.io/etcd/server/v3 && CGO_ENABLED=0 $(GO) build -o $$dir/kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver) && \
	cd berthtest/examples && CGO_ENABLED=0 $(GO) run ./envtest -assets $$dir $(ARGS)

bench-page: ## web page with 5,000 nodes and 100,000 pods: paint, frame rate, cost of the server; needs npm and chromium (ARGS=-help)
	cd ui/web && npm ci --ignore-scripts --no-audit --no-fund
	CGO_ENABLED=0 $(GO) run ./bench/page $(ARGS)

bench-history: ## web page with the recording of a day of OpenB (BERTH_OPENB): time of answers, size, memory; needs npm and chromium (ARGS=-help)
	cd ui/web && npm ci --ignore-scripts --no-audit --no-fund
	CGO_ENABLED=0 $(GO) run ./bench/history -browser $(ARGS)

bench-pods: ## embedded runtime: start and removal of 100 pods, memory of shims
	CGO_ENABLED=0 $(GO) run ./bench/pods $(ARGS)

critest: ## critest on the embedded runtime and containerd; writes docs/reference/critest.md
	CGO_ENABLED=0 $(GO) run ./e2e/critest $(ARGS)

test-v2: ## cgroup v2 tests in an emulated machine; writes docs/performance/cgroup-v2.txt
	.ci/test-v2 docs/performance/cgroup-v2.txt

N ?= 1000
SEED ?= 1
fuzz-parity: ## compares N random cases from SEED with the real kube-scheduler
	dir=$$(mktemp -d) && \
	(cd parity && CGO_ENABLED=0 $(GO) run ./vectorgen -n $(N) -seed $(SEED) -o $$dir) && \
	CGO_ENABLED=0 $(GO) test ./conformance -count 1 -v -run 'TestScheduling(Messages)?$$' -args -vectors $$dir && rm -r $$dir

ARGS ?=
bench-parity: ## comparison with kube-scheduler and descheduler, one hour (ARGS=-quick, -help)
	cd parity && CGO_ENABLED=0 $(GO) run ./bench $(ARGS)
	$(MAKE) bench-descheduler ARGS=$(filter -quick,$(ARGS))

bench-descheduler: ## the descheduler part of bench-parity (ARGS=-quick, -help)
	cd parity/descheduler && CGO_ENABLED=0 $(GO) run . $(ARGS)

e2e-kube: ## Berth components on the real kube-apiserver and etcd (ARGS="-only descheduler")
	cd parity && CGO_ENABLED=0 $(GO) run ./cluster $(ARGS)

RUNTIME ?= embedded
conformance: ## Kubernetes' conformance suite, requires root (FOCUS=, SKIP=, BATCH=, RUNTIME=)
	CGO_ENABLED=0 $(GO) run ./conformance/suite -runtime '$(RUNTIME)' -focus '$(FOCUS)' -skip '$(SKIP)' -batch '$(BATCH)' $(ARGS)

software: ## installs other projects' software on Berth and checks it, needs root (FOCUS=)
	CGO_ENABLED=0 $(GO) run ./conformance/software -focus '$(FOCUS)' $(ARGS)

fmt: ## formats all Go files
	gofmt -w $$(git ls-files '*.go')
