# The commands of everyday work. `make help` lists them. CI runs .ci/run, which
# calls the same ones.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Where the pinned tools are built.
TOOLS := .ci/bin
tool_inputs := .ci/tools/go.mod .ci/tools/go.sum $(wildcard .ci/tools/*/*.go)

# What the targets below take, as in `make bench CLOUD=google BENCH_ARGS=--help`.
CLOUD ?= embedded
BENCH_ARGS ?=
FUZZTIME ?= 10s
LOCAL_ARGS ?=
TEST_ARGS ?=
PKGS ?= ./...

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the binary to dist/outbox-relay
	go build -trimpath -o dist/outbox-relay ./cmd/outbox-relay

.PHONY: test
test: ## run the tests; nothing needs to be installed
	go test -shuffle=on $(TEST_ARGS) $(PKGS)

.PHONY: test-race
test-race: ## run the tests under the race detector
	go test -race -shuffle=on -count=1 $(TEST_ARGS) $(PKGS)

.PHONY: test-emulators
test-emulators: ## run the conformance and end-to-end tests on Google's emulators
	go run ./deploy/local/google/cmd/google-emulators -- \
		sh -c "go test -count=1 -timeout 20m -run 'Google|E2E' $(TEST_ARGS) $(PKGS) && go test -count=1 -run '/google' $(TEST_ARGS) ./ier/pubsub ./dlq/admin"

.PHONY: lint
lint: $(TOOLS)/installed ## run gofumpt, vet and the linters of .golangci.yml
	@unformatted="$$($(TOOLS)/gofumpt -l .)"; \
	if [[ -n $$unformatted ]]; then echo "not formatted; run make fmt:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(TOOLS)/golangci-lint run ./...

.PHONY: fmt
fmt: $(TOOLS)/installed ## format the code
	$(TOOLS)/gofumpt -w .

.PHONY: tidy
tidy: ## tidy go.mod and go.sum
	go mod tidy

.PHONY: generate
generate: ## write what is generated
	go generate ./...

.PHONY: fuzz
fuzz: ## fuzz each decoder for FUZZTIME (10s)
	@for pkg in $$(go list ./...); do \
		for name in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
			echo "$$pkg $$name"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
		done; \
	done

.PHONY: bench
bench: ## measure the relay; CLOUD=embedded|google, BENCH_ARGS=...
	go run ./cmd/relay-bench --cloud $(CLOUD) $(BENCH_ARGS)

.PHONY: node-check
node-check: build ## hold Firestore, embedded and Google's, to what the Node client expects
	.ci/node-check embedded
	.ci/node-check google

.PHONY: ci
ci: ## run all that CI runs
	bash .ci/run

.PHONY: run-local
run-local: ## run everything embedded, with samples; LOCAL_ARGS=...
	go run ./cmd/outbox-relay local $(LOCAL_ARGS)

.PHONY: clean
clean: ## remove what was built
	rm -rf dist $(TOOLS) deploy/local/firestore/nodecheck/node_modules

# The stamp is newer than its inputs once all tools are built.
$(TOOLS)/installed: $(tool_inputs)
	mkdir -p $(TOOLS)
	cd .ci/tools && GOFLAGS=-buildvcs=false GOBIN=$(abspath $(TOOLS)) go install tool ./...
	touch $@
