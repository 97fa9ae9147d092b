# Every target needs only Go and make; what else is missing is installed by name.
.DEFAULT_GOAL := help
SHELL := /bin/bash

BIN := $(CURDIR)/.bin
# Without cgo the binaries are static, and no package needs a C compiler. The race detector does, and only the tests
# use it. No package needs build tags. One set of flags lets all builds share what is compiled.
FLAGS := CGO_ENABLED=0 GOFLAGS="$(shell go env GOFLAGS) -trimpath"
# Compilers, linters and tests trade memory for CPU time: no garbage is collected below the limit, which is that of one process.
ROOMY := GOGC=off GOMEMLIMIT=1GiB
ROOMIEST := GOGC=off GOMEMLIMIT=3GiB
GO := $(FLAGS) $(ROOMY) go
GOLANGCI_LINT := $(BIN)/golangci-lint
DEADCODE := $(BIN)/deadcode
GOTESTSUM := $(BIN)/gotestsum
LICENCES := $(BIN)/go-licenses

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the programs into .bin
	$(GO) build -trimpath -o $(BIN)/ ./cmd/rookery ./cmd/simulation ./deploy/examples/web ./deploy/examples/shardkv

.PHONY: run
run: build ## Run the main job here until Ctrl-C: a private Podman, rookery dev, an example service
	@deploy/run

# METRICS is where coordinators and nodes serve theirs; without it, where those of `make run` do.
METRICS :=
.PHONY: observe
observe: $(BIN)/collector ## Look at a cluster that runs with Prometheus until Ctrl-C: make observe METRICS="10.0.0.4:9464 10.0.0.5:9464"
	@deploy/observe $(METRICS)

$(BIN)/collector: deploy/collector/go.mod deploy/collector/go.sum deploy/collector/main.go
	@echo "Building an OpenTelemetry Collector, once. That takes a minute or two."
	@cd deploy/collector && $(GO) build -trimpath -o $@ . || { rm -f $@; echo "That failed: there will be no traces and logs."; }

.PHONY: check
check: build lint fast ## Build, lint and run the fast tests: what every commit passes

# The slow tests run processes, Podman, the nats CLI or mounts, or last for minutes.
SLOW := Podman|Archive|CapsuleOf|ShardsMove|KilledContainers|CoordinatorKilled|TwoCoordinators|Deleted|LogRestored|DiskFull|PowerCut|Screens
# What needs more than the product may depend on stands in modules of its own.
MODULES := deploy/collector deploy/grafana/check cmd/benchmark/placement/swarmkit
# The screens lie outside of the module that checks them: what is cached would say nothing of them.
CHECK_SCREENS := cd deploy/grafana/check && $(GO) test -count 1 ./...
.PHONY: words
words: ## Hold comments, messages and documents to plain English, and count the words of each document
	@$(GO) run .ci/words.go

.PHONY: reference
reference: ## Write the reference of the command line
	$(GO) test ./cmd/rookery -run ReferenceIsFresh -write-reference

.PHONY: man
man: ## Write man pages of all commands into .bin/man
	@mkdir -p $(BIN)/man
	$(GO) test ./cmd/rookery -run ManPages -count 1 -write-man $(BIN)/man

.PHONY: transcripts
transcripts: nats ## Run the commands of the guides, and write what they print into the guides
	$(GO) test -count 1 ./cmd/rookerytest -run TestGuides -write-transcripts

.PHONY: structure
structure: ## Measure how the product is built: lines, functions, methods, tests of a service's mode
	@$(GO) run .ci/structure.go

.PHONY: fast
fast: ## Run the fast tests, with the race detector
	$(ROOMY) go test $(RACE) -short -parallel 8 -skip '$(SLOW)' $$(go list ./... | grep -v /node/podman)
	$(CHECK_SCREENS)

# These look at every place of the recorded logs, at every write of a leader, at every plan and at 200 damaged backups; under the race detector at some.
WHOLE := TheStateAtEverySequence|DiffsAddUp|TheLastRoundIsReadBack|ReplayEqualsLive|ASnapshotIsTheStateAtEveryRound|FromASnapshotAllGoesOn
WHOLE := $(WHOLE)|TheLeaderKilledAtEachStep|KeptPlans|AClusterGoesOnFromEachGoldenLog|WhatIfComesNear|DamageIsRefused
# Tests by the race detector. The linter vets; without tables of symbols programs are linked in half the time.
RACE := -race -vet=off -ldflags='-s -w'
# The packages whose tests run processes and Podman, and mostly wait for them.
REAL := ./cmd/rookerytest ./node/podman/...
# The tests with parts that run side by side. Within one process their parts would begin after all other tests.
PARTS := FaultsOnPodman|SpecFields
# The tests under 20 commands a second that take a processor for as long as they run: beside them, tests that count seconds fail.
ALONE := AvailabilityOnPodman|VersionsOnPodman
# The packages whose tests only compute: no clock of this machine counts for them.
COMPUTE := coordinator|coordinator/(capsule|operation|placement|whatif)|projections(/.*)?|events|events/golden|cmd|cmd/simulation(/.*)?|cmd/rookery/(compose|grid)|schemas(/.*)?
ALL := go list ./... | grep -v -e /rookerytest$$ -e /node/podman
COMPUTED := $$($(ALL) | grep -E '/rookery/($(COMPUTE))$$')
PURE := $$($(ALL) | grep -vE '/rookery/($(COMPUTE))$$')
REPORTS := $(BIN)/tests
TEST = $(ROOMY) $(GOTESTSUM) --format testname --format-hide-empty-pkg --hide-summary=skipped --jsonfile
.PHONY: test
test: build setup nats $(GOTESTSUM) ## Run all tests, on the real Podman and the real NATS, with the race detector
	@rm -rf $(REPORTS) && mkdir -p $(REPORTS)
	@.ci/low $(MAKE) --no-print-directory test-computed >$(REPORTS)/computed.txt 2>&1 & computed=$$!; \
		trap 'kill $$computed 2>/dev/null || true' EXIT; \
		passed=0; $(MAKE) --no-print-directory test-real test-pure || passed=$$?; \
		wait $$computed || passed=$$?; cat $(REPORTS)/computed.txt; \
		echo; echo "The ten slowest tests:"; \
		cat $(REPORTS)/*.json | $(GOTESTSUM) tool slowest --threshold 0s --num 10; \
		exit $$passed

.PHONY: test-real
test-real:
	$(ROOMY) go list -race -test -export $(REAL) >/dev/null # otherwise each of the go commands below compiles all of it
	@$(TEST) $(REPORTS)/parts.json -- $(ON_PODMAN) -parallel 3 -run '$(PARTS)' ./cmd/rookerytest & parts=$$!; \
		trap 'kill $$parts 2>/dev/null || true' EXIT; \
		passed=0; $(TEST) $(REPORTS)/real.json -- $(ON_PODMAN) -parallel 4 -skip '$(PARTS)|$(ALONE)' $(REAL) || passed=$$?; \
		deploy/run --once || passed=$$?; \
		wait $$parts || passed=$$?; \
		$(TEST) $(REPORTS)/alone.json -- $(ON_PODMAN) -run '$(ALONE)' ./cmd/rookerytest || passed=$$?; exit $$passed
ON_PODMAN := $(RACE) -exec 'env GOGC=400' -timeout 60m

# These compute, and wait for this machine's clock too. They run after those: beside them, tests of either kind run out of time.
.PHONY: test-pure
test-pure:
	$(TEST) $(REPORTS)/pure.json -- $(RACE) -timeout 60m $(PURE)
	for module in $(MODULES); do (cd $$module && $(GO) test -count 1 ./...) || exit; done

# At the lowest priority these take what time the other tests leave.
.PHONY: test-computed
test-computed:
	$(ROOMY) go list -race -test -export $(PURE) >/dev/null # what test-pure needs is compiled by then
	env $(FLAGS) $(TEST) $(REPORTS)/whole.json -- -vet=off -timeout 60m -run '$(WHOLE)' ./coordinator/runner/... ./projections ./cmd/simulation/world
	$(TEST) $(REPORTS)/computed.json -- $(RACE) -timeout 60m $(COMPUTED)
	$(BIN)/simulation -seeds $(FIXED_SEEDS)
	$(MAKE) --no-print-directory $(STRUCK)
	$(STRUCK) -beside panics -for 1m

.PHONY: test-spec
test-spec: setup ## Run the table test of every spec field through the real Podman
	go test -race -timeout 10m -run TestSpecFieldsOnPodman ./cmd/rookerytest

.PHONY: screens
screens: setup ## Test what terminals show, and write each screen into .bin/screens for people to look at
	@mkdir -p $(BIN)/screens
	go test -timeout 10m -count 1 -run TestScreens ./cmd/rookerytest -screens $(BIN)/screens
	@ls $(BIN)/screens

.PHONY: test-security
test-security: ## Try every role with every subject, and attacks, on a real NATS server; the last line counts what went wrong
	@set -o pipefail; go test -race -v -count 1 -timeout 10m -run 'Matrix|Attacks|EverySubject' ./cmd/rookery/secure | \
		awk '/^cells /{cells = $$0; next} /^attacks /{attacks = $$0; next} {print} END {print cells ", " attacks; exit cells == "" || attacks == ""}'

.PHONY: test-operations
test-operations: setup ## Run the tests of operations on the real Podman; the last line counts what they have seen
	@set -o pipefail; go test -race -v -timeout 20m -run '$(OPERATIONS)' ./cmd/rookerytest -tally 2>&1 | \
		awk '/^operations /{seen = $$0; next} {print} END {print seen; exit seen == ""}'
OPERATIONS := ShardsMove|CoordinatorKilledIn|UpdatesOfPodmanHosts|CanariesWaitForPeople|TwoCommandsAtOnce|RollbackBringsBack|GroupsOnPodman

# Interrupting make ends the test alone, which prints what it has seen and removes what it has made.
LAST_LINE = { trap '' INT; last=; while IFS= read -r line; do \
	case $$line in "$(1) "*) last=$$line;; *) printf '%s\n' "$$line";; esac; done; echo "$$last"; [ -n "$$last" ]; }

.PHONY: test-faults
test-faults: setup ## Inject every fault on the real Podman; the last line counts what did not heal
	@set -o pipefail; go test -v -timeout 25m -run TestFaultsOnPodman ./cmd/rookerytest 2>&1 | $(call LAST_LINE,faults)

AVAILABILITY := go test -v -count 1 -timeout 24h -run TestAvailabilityOnPodman ./cmd/rookerytest -experiments ''
.PHONY: test-ha
test-ha: setup ## Break one thing after the other of a Rookery on three NATS servers; the last line counts what was lost
	@set -o pipefail; $(AVAILABILITY) 2>&1 | $(call LAST_LINE,experiments)

# OLDER is the commit of the version before, with which `make test-versions` mixes the present one.
OLDER := 2d61a742
.PHONY: test-versions
test-versions: setup ## Mix programs of two versions, upgrade and go back; the last line counts what went wrong
	@set -o pipefail; go test -v -count 1 -timeout 15m -run TestVersionsOnPodman ./cmd/rookerytest -older $(OLDER) 2>&1 | $(call LAST_LINE,mixed)

.PHONY: soak-backup
soak-backup: setup ## Kill backup, restore and migrate 50 times each
	go test -v -count 1 -timeout 60m -run 'BackupAndRestoreMayBeKilled|TheBusIsMigrated' ./cmd/rookerytest -interruptions 50 -migrations 50

# SOAK_HA is how long `make soak-ha` lasts at least.
SOAK_HA := 1h
.PHONY: soak-ha
soak-ha: setup ## Break things at random on three NATS servers for long: make soak-ha SOAK_HA=4h
	@set -o pipefail; $(AVAILABILITY) -experiment-for $(SOAK_HA) 2>&1 | $(call LAST_LINE,experiments)

DASHBOARDS := go test -v -count 1 -timeout 15m -run TestDashboardsOnPodman ./cmd/rookerytest
.PHONY: test-dashboards
test-dashboards: setup nats ## Ask a real Prometheus each query of screens and alerts; the last line counts what found nothing
	@$(CHECK_SCREENS)
	@set -o pipefail; $(DASHBOARDS) 2>&1 | $(call LAST_LINE,dashboards)

.PHONY: pictures
pictures: setup nats ## Write a picture of each screen over a real run into .bin/pictures for people to look at
	@mkdir -p $(BIN)/pictures
	@set -o pipefail; $(DASHBOARDS) -pictures $(BIN)/pictures 2>&1 | $(call LAST_LINE,dashboards)
	@ls $(BIN)/pictures

# SOAK_FAULTS is how long `make soak-faults` lasts at least.
SOAK_FAULTS := 30m
.PHONY: soak-faults
soak-faults: setup ## Inject faults at random for long: make soak-faults SOAK_FAULTS=2h
	@set -o pipefail; go test -v -timeout 24h -run TestFaultsSoakOnPodman ./cmd/rookerytest -soak-faults $(SOAK_FAULTS) 2>&1 | \
		$(call LAST_LINE,lifecycles)

# Seeds that every run of the tests has, beside the plans that are kept and a minute of fresh ones.
FIXED_SEEDS := 100

# A simulation whose coordinators can be made to panic: it is compiled with a changed copy of where they begin with a unit of work.
STRUCK := $(BIN)/simulation-struck
.PHONY: $(STRUCK)
$(STRUCK):
	@overlay=$$($(GO) run ./cmd/simulation/strike/overlay $(BIN)/strike) && $(GO) build -trimpath -overlay $$overlay -o $@ ./cmd/simulation

.PHONY: sim-panics
sim-panics: build $(STRUCK) ## Simulate with coordinators that panic in units of work: make sim-panics SEEDS=200
	$(STRUCK) -seeds $(SEEDS) -beside panics
SEEDS := 100

.PHONY: sim
sim: build ## Simulate the whole house under faults, with fresh seeds, for two minutes
	$(BIN)/simulation -for 2m

# SOAK is how long `make soak` lasts.
SOAK := 4h
.PHONY: soak
soak: build ## Simulate for hours: make soak SOAK=8h
	$(BIN)/simulation -for $(SOAK)

# MUTANTS is how many mutants `make sim-mutants` tries, beside every bug that was really found.
MUTANTS := 300
.PHONY: sim-mutants
sim-mutants: ## Plant small bugs, and list those that no test notices: make sim-mutants MUTANTS=1000
	$(GO) run ./cmd/simulation/mutants -mutants $(MUTANTS)

.PHONY: setup
setup: ## Install what is missing for the tests
	deploy/podman install tests

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters, and prove that their rules fire
	for module in . $(MODULES); do (cd $$module && $(FLAGS) $(ROOMIEST) $(GOLANGCI_LINT) run ./...) || exit; done
	$(GOLANGCI_LINT) fmt --diff
	$(ROOMIEST) GOLANGCI_LINT=$(GOLANGCI_LINT) .ci/prove-lint.sh
	$(MAKE) --no-print-directory deadcode
	$(MAKE) --no-print-directory words

# Planted bugs and panics alone call these packages: no such call stands in the source.
.PHONY: deadcode
deadcode: $(DEADCODE) ## Fail where neither a program nor a test reaches a function
	@set -o pipefail; $(FLAGS) $(ROOMIEST) $(DEADCODE) -test ./... | awk '!/^cmd.simulation.(mutants.planted|strike)/ {print; dead = 1} END {exit dead}'

$(DEADCODE): .ci/tools/deadcode.version
	GOBIN=$(BIN) $(GO) install golang.org/x/tools/cmd/deadcode@$$(cat $<)
	@touch $@

$(GOLANGCI_LINT): .ci/tools/golangci-lint.version
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$$(cat $<)
	@touch $@

$(GOTESTSUM): .ci/tools/gotestsum.version
	GOBIN=$(BIN) $(GO) install gotest.tools/gotestsum@$$(cat $<)
	@touch $@

.PHONY: licences
licences: $(LICENCES) ## Write the list of the licences of all dependencies
	GOROOT=$$(go env GOROOT) $(FLAGS) $(LICENCES) report ./cmd/rookery --template .ci/licences.tmpl > deploy/licences.md

$(LICENCES): .ci/tools/go-licenses.version
	GOBIN=$(BIN) $(GO) install github.com/google/go-licenses@$$(cat $<)
	@touch $@

.PHONY: nats
nats: $(BIN)/nats ## Build the nats CLI, the people's client

$(BIN)/nats: .ci/tools/nats/go.mod
	cd .ci/tools/nats && $(GO) build -o $@ github.com/nats-io/natscli/nats

# RELEASE is the folder that `make release` writes to.
RELEASE := $(BIN)/release
.PHONY: release
release: $(BIN)/nfpm $(BIN)/cyclonedx-gomod ## Build programs, packages and images of this commit: make release RELEASE=/tmp/rookery
	@deploy/release $(RELEASE)

$(BIN)/nfpm: .ci/tools/nfpm.version
	GOBIN=$(BIN) $(GO) install github.com/goreleaser/nfpm/v2/cmd/nfpm@$$(cat $<)
	@touch $@

$(BIN)/cyclonedx-gomod: .ci/tools/cyclonedx-gomod.version
	GOBIN=$(BIN) $(GO) install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$$(cat $<)
	@touch $@

.PHONY: test-release
test-release: ## Build a release twice on clean clones, compare them, and try the packages and the program of arm64
	@.ci/release-check

.PHONY: test-cluster
test-cluster: ## Install a cluster by SSH on three machines that run systemd, stopped and begun again; the last line counts
	@.ci/cluster-check

.PHONY: bench
bench: setup ## Measure: ours, the bare thing beside it, and the ratio
	@set -o pipefail; { $(GO) test -run '^$$' -bench . -benchtime 1x -timeout 10m ./cmd/rookerytest && \
		$(GO) test -run '^$$' -bench . -benchtime 15x -timeout 10m ./node/podman; } 2>&1 | awk -f .ci/bench-table.awk

.PHONY: bench-placement
bench-placement: ## Measure placement beside swarmkit's scheduler, in rounds that alternate
	$(GO) build -o $(BIN)/placement ./cmd/benchmark/placement
	cd cmd/benchmark/placement/swarmkit && $(GO) build -o $(BIN)/swarmkit .
	$(BIN)/placement -peer $(BIN)/swarmkit

.PHONY: bench-inputs
bench-inputs: ## Measure 200 commands a second for ten minutes, and a flood of rejected ones: what is refused, memory and disk
	$(GO) test -exec 'env -u GOGC -u GOMEMLIMIT' -run '^$$' -bench Inputs -benchtime 1x -timeout 30m ./cmd/rookerytest -inputs 10m

# INSTANCES is how many the coordinators of `make bench-takeover` lead.
INSTANCES := 100000
.PHONY: bench-takeover
bench-takeover: ## Measure until another coordinator leads a large fleet, with a standby and without: make bench-takeover INSTANCES=5000
	$(GO) test -exec 'env -u GOGC -u GOMEMLIMIT' -run '^$$' -bench Takeover -benchtime 1x -timeout 60m ./cmd/rookerytest -instances $(INSTANCES)

# USERS is how many are connected in `make bench-revocation`.
USERS := 1000
.PHONY: bench-revocation
bench-revocation: setup ## Measure how soon a removed user is cut off: make bench-revocation USERS=200
	$(GO) test -run '^$$' -bench Revocation -benchtime 1x -timeout 30m ./cmd/rookerytest -users $(USERS)

.PHONY: bench-security
bench-security: ## Measure what signatures of rounds, TLS, encryption and accounts cost, each alone and all together
	@set -o pipefail; $(GO) test -exec 'env -u GOGC -u GOMEMLIMIT' -run '^$$' -bench Security -benchtime 1x -timeout 30m ./cmd/rookerytest 2>&1 | \
		awk -f .ci/bench-table.awk

.PHONY: bench-join
bench-join: setup ## Measure how long 200 nodes take to join with one token
	$(GO) test -run '^$$' -bench Join -benchtime 1x -timeout 10m ./cmd/rookerytest

# BACKUP_EVENTS is how long the log of `make bench-backup` is.
BACKUP_EVENTS := 1000000
.PHONY: bench-backup
bench-backup: setup ## Back up and restore a long log while commands go on, and measure: make bench-backup BACKUP_EVENTS=100000
	$(GO) test -v -count 1 -timeout 60m -run TestARestoredFleet ./cmd/rookerytest -backup-events $(BACKUP_EVENTS)

# EVENTS is how long the log of `make bench-log` is. Each takes up to 600 bytes in TMPDIR, which go with the end.
EVENTS := 10000000
.PHONY: bench-log
bench-log: ## Measure starts, questions about the past and memory on a log of ten million events: make bench-log EVENTS=1000000
	@$(GO) build -o $(BIN)/log ./cmd/benchmark/log
	@$(BIN)/log -events $(EVENTS)

.PHONY: schemas
schemas: ## Write the JSON Schemas of all messages anew
	go generate ./schemas

.PHONY: dashboards
dashboards: ## Write the screens for Grafana and the alert rules for Prometheus anew
	cd deploy/grafana && $(GO) run ./generate

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN)
