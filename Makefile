# The commands of everyday work. `make help` lists them. CI runs .ci/run, which
# calls the same ones.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Where the pinned tools are built.
TOOLS := .ci/bin
tool_inputs := .ci/tools/go.mod .ci/tools/go.sum $(wildcard .ci/tools/*/*.go)

# Google's Auth emulator, from npm.
FIREBASE := deploy/local/google/firebase

# TypeScript and what the generated producer's end imports, from npm. Its tests are
# skipped where they are not installed.
NODE_PRODUCER := contracts/node

# The programs of .ci/node-check, rules-check and client-check, from npm.
NODE_CHECKS := deploy/local/firestore/nodecheck deploy/firestore/rulestest deploy/local/client

# axe-core, from npm: what it finds fails the console's browser tests. They run
# without it where it is not installed, and are skipped without a Chromium.
AXE := .ci/tools/axe
export OUTBOX_RELAY_AXE ?= $(wildcard $(CURDIR)/$(AXE)/node_modules/axe-core/axe.min.js)

# What the targets below take, as in `make bench CLOUD=google BENCH_ARGS=--help`.
CLOUD ?= embedded
BENCH_ARGS ?=
CHAOS_ARGS ?=
FUZZTIME ?= 10s
LETTERS ?= 100000
BULK ?= 1000
BACKLOG ?= 5000
RECORDS ?= 20000
KILLS ?= 20
CROWD ?= 5000
SCALE ?= 10000
STEPS ?= 1000000
SEEDS ?=
SEED ?=
LOCAL_ARGS ?=
PUBLISHER_ARGS ?=
ROWS ?= 10000000
TEST_ARGS ?=
PKGS ?= ./...
IMAGE_ARGS ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the binaries to dist/outbox-relay and dist/outbox-publisher
	CGO_ENABLED=0 go build -trimpath -o dist/outbox-relay ./cmd/outbox-relay
	CGO_ENABLED=0 go build -trimpath -o dist/outbox-publisher ./cmd/outbox-publisher

.PHONY: image
image: ## make the container image as an OCI archive in dist, with its SBOM; IMAGE_ARGS='--program outbox-publisher --platform linux/amd64,linux/arm64'
	go run ./deploy/cloudrun/cmd/build-image $(IMAGE_ARGS)

.PHONY: test
test: ## run the tests that need nothing installed, and little time
	go test -shuffle=on -timeout 75m $(TEST_ARGS) $(PKGS)

.PHONY: node-packages
node-packages: $(NODE_PRODUCER)/node_modules/.package-lock.json ## install what the TypeScript of contracts/node is tested with

.PHONY: check-packages
check-packages: $(NODE_CHECKS:%=%/node_modules/.package-lock.json) ## install what the checks with Node run with

# How many tests of a package run at once under the race detector, and how many packages where
# many of their tests wait. One more than there are processors; many more would only make
# each of them later, until one of them waits in vain.
RACERS := $(shell expr `getconf _NPROCESSORS_ONLN` + 1)

# By itself each program of tests sleeps for a second at its end, for races of goroutines
# that outlive their test: without it a third of them goes unseen, with this none of 60.
GORACE ?= atexit_sleep_ms=100

.PHONY: test-race
test-race: ## run the tests under the race detector; those of the whole program and, where a Chromium is installed, in a browser, too
	GORACE=$(GORACE) OUTBOX_RELAY_E2E=1 OUTBOX_RELAY_BROWSER=1 CGO_ENABLED=1 go test -race -shuffle=on -count=1 -timeout 75m -parallel $(RACERS) $(TEST_ARGS) $(PKGS)

# Those are the tests that say so, by thorough.Long, and those of a table that they have
# whole here alone, by thorough.Whole: see deploy/local/thorough. CI fails if one is left out
# of every run. Some of them mostly wait, so that one more package than
# there are processors runs at once. A browser has so many threads that what runs beside it
# waits for minutes.
.PHONY: test-thorough
test-thorough: ## run the tests that take long
	@files="$$(grep -rlE --include='*_test.go' 'thorough\.(Long\(t\)|Whole\(\))' .)"; \
	names="$$(awk '/^func / { sub(/\(.*/, "", $$2); name = $$2 } /thorough\.(Long\(t\)|Whole\(\))/ { if (name !~ /^Test/) { print FILENAME ": " name " is no test" >"/dev/stderr"; exit 1 } print name }' $$files | sort -u | paste -sd '|')"; \
	thorough=(go test -p $(RACERS) -shuffle=on -count=1 -timeout 75m -run "^($$names)\$$" $(TEST_ARGS)); first=0; \
	"$${thorough[@]}" ./dlq/console || first=$$?; \
	"$${thorough[@]}" $$(dirname $$files | sort -u | grep -vx ./dlq/console) && exit $$first

.PHONY: test-console
test-console: axe ## run the console's tests, with axe-core; needs Chromium and Node
	OUTBOX_RELAY_AXE=$(CURDIR)/$(AXE)/node_modules/axe-core/axe.min.js OUTBOX_RELAY_BROWSER=1 go test -shuffle=on -count=1 -timeout 15m $(TEST_ARGS) ./dlq/console
	OUTBOX_RELAY_AXE=$(CURDIR)/$(AXE)/node_modules/axe-core/axe.min.js go test -count=1 -timeout 5m -run Console $(TEST_ARGS) ./cmd/outbox-relay

.PHONY: screenshots
screenshots: ## write the README's pictures of the console; needs Chromium
	OUTBOX_RELAY_SCREENSHOTS=$(CURDIR)/dlq/console/pictures go test -count=1 -run TestScreenshots ./dlq/console

.PHONY: axe
axe: $(AXE)/node_modules/.package-lock.json ## install axe-core, for the console's tests

# Linking the tests of packages that have none of these would take minutes. More packages
# at once only wait longer for the emulators.
.PHONY: test-emulators
test-emulators: ## run the conformance and end-to-end tests on Google's emulators
	@$(MAKE) -s auth-emulator >&2 || true # without it, the tests on it are skipped
	@packages="$(if $(filter-out ./...,$(PKGS)),$(PKGS),$$(grep -rlE --include='*_test.go' '^func Test[A-Za-z0-9_]*(Google|E2E)' . | xargs dirname | sort -u | paste -sd ' '))"; \
	go run ./deploy/local/google/cmd/google-emulators -- \
		sh -c "go test -count=1 -timeout 75m -run 'Google|E2E' $(TEST_ARGS) $$packages; first=\$$?; go test -count=1 -timeout 75m -run '/[gG]oogle' $(TEST_ARGS) ./ier/pubsub ./dlq/admin ./claims/firebase && exit \$$first"

.PHONY: bulk
bulk: ## replay 1,000 dead letters while the service is killed; BULK=5000 for more
	OUTBOX_RELAY_BULK=$(BULK) go test -count=1 -timeout 30m -run 'BulkSurvivesItsRunner|BulkReplaySurvivesKills' $(TEST_ARGS) ./dlq/bulk ./cmd/outbox-relay

.PHONY: bill
bill: ## hold the relay's bill to its bounds, with a backlog of 5,000; BACKLOG=20000 for more
	OUTBOX_RELAY_BACKLOG=$(BACKLOG) go test -count=1 -v -timeout 30m -run '^TestBill' $(TEST_ARGS) ./relay ./dlq/replayer | grep -E 'billed|^(---|ok|FAIL|panic)'

.PHONY: delivered-once
delivered-once: ## deliver 20,000 records, of which none may go twice; CLOUD=embedded|google, RECORDS=2000
	@[[ $(CLOUD) == embedded || $(CLOUD) == google ]] || { echo "CLOUD is $(CLOUD), want embedded or google" >&2; exit 2; }
	$(if $(filter google,$(CLOUD)),go run ./deploy/local/google/cmd/google-emulators --) \
		env OUTBOX_RELAY_DELIVERED_ONCE=$(RECORDS) go test -count=1 -v -timeout 60m \
		-run '^TestDeliveredOnceWhereNothingFails$(if $(filter google,$(CLOUD)),OnGoogle)$$' $(TEST_ARGS) ./relay

.PHONY: siege
siege: ## kill instances of the notification queue 20 times while events come, and one event beside 5,000 of another tenant; CLOUD=embedded|google
	$(if $(filter google,$(CLOUD)),go run ./deploy/local/google/cmd/google-emulators --) \
		env OUTBOX_RELAY_KILLS=$(KILLS) OUTBOX_RELAY_CROWD=$(CROWD) go test -count=1 -v -timeout 60m \
		-run '^Test$(if $(filter google,$(CLOUD)),Google)(KilledOverAndOver|OneEventBesideMany)$$' $(TEST_ARGS) ./relay/workqueue/notifications

.PHONY: scale
scale: ## simulate what docs/SIZING.md says that up to 10,000 records a second need, and half of it; SCALE=
	OUTBOX_RELAY_SCALE=$(SCALE) go test -count=1 -v -timeout 60m -run '^TestWhatIsNeededSuffices$$' $(TEST_ARGS) ./cmd/outbox-relay/cost

.PHONY: simulate
simulate: ## simulate a million steps of relays over a Firestore and targets that misbehave; STEPS=, SEEDS= for so many seeds, SEED= for one alone, with its story
	OUTBOX_RELAY_SIMULATE_STEPS=$(if $(SEEDS),,$(STEPS)) OUTBOX_RELAY_SIMULATE_SEEDS=$(SEEDS) OUTBOX_RELAY_SIMULATE_SEED=$(SEED) \
		go test -count=1 -v -timeout 10h -run '^(TestSimulation|TestDeathAtEveryStep)$$' $(TEST_ARGS) ./relay/simulation

.PHONY: auth-emulator
auth-emulator: $(FIREBASE)/node_modules/.package-lock.json ## install Google's Auth emulator

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

# Where goroutines answer, coverage differs from run to run, and minimizing what
# is merely new would take most of the time: it is given ten tries.
.PHONY: fuzz
fuzz: ## fuzz each decoder and each server of PKGS for FUZZTIME (10s)
	@for pkg in $$(go list $(PKGS)); do \
		for name in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
			echo "$$pkg $$name"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$pkg"; \
		done; \
	done

.PHONY: bench
bench: ## measure the relay; CLOUD=embedded|google, BENCH_ARGS=...
	go run ./cmd/relay-bench --cloud $(CLOUD) $(BENCH_ARGS)

.PHONY: bench-postgres
bench-postgres: ## measure the publisher of the outbox in Postgres beside a floor and Watermill; BENCH_ARGS=...
	go run ./cmd/relay-bench --source postgres $(BENCH_ARGS)

.PHONY: bench-traces
bench-traces: ## measure what traces cost a record: off, 1 %, all
	go test -run '^$$' -bench '^BenchmarkWay$$' -count 5 ./relay

.PHONY: terraform-check
terraform-check: ## check the Terraform configuration; with terraform installed, also by itself
	go test -count=1 ./deploy/terraform/...
	@if command -v terraform >/dev/null; then terraform fmt -check -recursive -diff deploy/terraform; \
	else echo "terraform is not installed: the test above checks the layout with HCL's formatter"; fi

.PHONY: alerts-check
alerts-check: ## check the alert rules and run their tests; needs promtool
	promtool check rules --lint=all --lint-fatal deploy/monitoring/prometheus/rules.yaml
	promtool test rules deploy/monitoring/prometheus/rules_test.yaml deploy/monitoring/prometheus/rules_days_test.yaml

.PHONY: bench-console
bench-console: ## measure the console's screens with 100,000 dead letters beside 100; LETTERS=100000
	OUTBOX_RELAY_BENCH_CONSOLE=$(LETTERS) go test -run '^TestSpeed$$' -count=1 -v -timeout 30m ./dlq/console

.PHONY: chaos
chaos: ## break the running service at random points and judge it; CLOUD=embedded|google, CHAOS_ARGS='-short -seed 7'
	go run ./cmd/relay-chaos -cloud $(CLOUD) $(CHAOS_ARGS)

.PHONY: consumer-chaos
consumer-chaos: ## kill relays and consumers 50 times while 10,000 events are on their way; CLOUD=embedded|google, CHAOS_ARGS='-short'
	go run ./cmd/consumer-chaos -cloud $(CLOUD) $(CHAOS_ARGS)

.PHONY: publisher-chaos
publisher-chaos: ## kill 100 publishers and restart Postgres 20 times while 100,000 rows are published; CLOUD=embedded|google, CHAOS_ARGS='-short'
	go run ./cmd/publisher-chaos -cloud $(CLOUD) $(CHAOS_ARGS)

.PHONY: node-check
node-check: build ## hold Firestore, embedded and Google's, to what the Node client expects
	.ci/node-check embedded
	.ci/node-check google

.PHONY: rules-check
rules-check: ## hold the security rules to their table, on the rules engine of Google's emulator
	.ci/rules-check

.PHONY: client-check
client-check: build ## let the example client see its claims change, on the embedded cloud and on Google's emulators
	.ci/client-check embedded
	.ci/client-check google

.PHONY: ci
ci: ## run all that CI runs
	bash .ci/run

.PHONY: run-local
run-local: ## run everything embedded, with samples; LOCAL_ARGS=...
	go run ./cmd/outbox-relay local $(LOCAL_ARGS)

.PHONY: run-outbox-publisher
run-outbox-publisher: ## run the Postgres publisher with a database, Redis, Pub/Sub, producers and a consumer of its own; PUBLISHER_ARGS='--records 5000'
	go run ./cmd/outbox-publisher local $(PUBLISHER_ARGS)

.PHONY: publisher-plan
publisher-plan: ## show how Postgres finds what the publisher claims beside ten million published rows; ROWS=1000000
	OUTBOX_RELAY_PLAN_ROWS=$(ROWS) go test -count=1 -v -timeout 3h -run '^TestClaimIsAnIndexScan$$' $(TEST_ARGS) ./relay/postgres/publisher

.PHONY: clean
clean: ## remove what was built
	rm -rf dist $(TOOLS) $(addsuffix /node_modules,$(NODE_PRODUCER) $(AXE) $(FIREBASE) $(NODE_CHECKS))

# The stamp is newer than its inputs once all tools are built.
$(TOOLS)/installed: $(tool_inputs)
	mkdir -p $(TOOLS)
	cd .ci/tools && CGO_ENABLED=0 GOFLAGS='-buildvcs=false -trimpath' GOBIN=$(abspath $(TOOLS)) go install tool ./...
	touch $@

# npm writes this file last. No script of a package is run.
%/node_modules/.package-lock.json: %/package.json %/package-lock.json
	npm ci --prefix $* --ignore-scripts --no-audit --no-fund
	touch $@
