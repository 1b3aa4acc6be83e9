# The commands of this repository. `make` lists them.
#
# What runs when, and what each proves, is a table in CONTRIBUTING.md.

.DEFAULT_GOAL := help
SHELL := /bin/bash
# A failed command in a pipe fails its step.
.SHELLFLAGS := -eu -o pipefail -c

GO ?= go
# Packages tested beside each other: more than there are cores, because many wait for
# processes that they start.
P ?= 4
# Compilers and tests make much garbage and keep little: with fewer collections they take a
# third less of the processor, and some more memory.
export GOGC ?= 400
# Those that take longest begin first, so that none is alone at the end.
LONGEST := ./internal/engine ./dashboard ./store/postgres ./internal/clustertest ./flow ./internal/killtest ./cmd/...
# The race detector leaves SQLite's own code, C translated to Go, unwatched: that made it
# eighteen times slower and found nothing.
UNWATCHED := -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false -gcflags=modernc.org/libc/...=-race=false
# Neither these tools nor what they depend on are any business of an importer of this module.
TOOL := $(GO) tool -modfile=tools/go.mod
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.15.1

# with finds the packages that have a function of this kind: Benchmark or Fuzz.
with = $(sort $(dir $(shell grep -rl --include=*_test.go '^func $(1)' $(filter-out bench/ lab/ tools/,$(wildcard */)))))

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

check: setup ## everything, as CI runs it: 12 minutes on two cores, some five more with empty caches
	@.ci/steps.sh $(MAKE) static test race others
	@.ci/missing.sh report

quick: format vet short ## what most mistakes fail in, without databases and browsers: three minutes
	@.ci/missing.sh report

nightly: export PERDURE_NIGHTLY := 1
nightly: export TIMEOUT := 6h
nightly: export FUZZTIME := 1m
nightly: setup ## the exhaustive product: all shapes, settings and seeds, Patroni, long fuzzing; hours
	@.ci/steps.sh $(MAKE) static test race others fuzz sample

setup: ## install the programs that the tests need besides Go, or print how to
	@.ci/missing.sh install

static: format modfiles vet lint cross

format:
	@files=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	[ -z "$$files" ] || { echo "These files are not formatted. Run: gofmt -w" $$files; exit 1; }

# The module proxy may lack what only the tests of a dependency import, hence -e; and then
# only the difference in go.mod counts.
modfiles:
	$(GO) mod verify
	@diff=$$($(GO) mod tidy -e -diff 2>/dev/null || true); \
	[[ "$$diff" != *"diff current/go.mod"* ]] || { echo "$$diff"; echo "go.mod is not tidy. Run: go mod tidy -e"; exit 1; }

# Without cgo, so that it finds what a build without a C compiler compiles.
vet:
	CGO_ENABLED=0 $(GO) vet ./...

# By day what is shipped: with the tests, and all that they depend on, it took three times as long.
lint:
	CGO_ENABLED=0 $(TOOL) staticcheck -tests=$(if $(PERDURE_NIGHTLY),true,false) ./...

# What is made for one system is made for Windows, for Unix or for Linux; darwin is a Unix that is
# not Linux. Only types are checked: compiling all for Windows took as long as half of the tests.
cross: typecheck
	bin/typecheck windows darwin

typecheck:
	CGO_ENABLED=0 $(GO) -C tools build -o "$(CURDIR)/bin/typecheck" ./cmd/typecheck

# One test of the engine takes as long as all others of it, one after the other: it has a process
# of its own, or all would wait for it at the end.
ALONE := ^TestEveryWriteOfEveryShape$$
TEST = CGO_ENABLED=0 $(GO) test -vet=off -timeout $(or $(TIMEOUT),30m) $(TESTFLAGS)

test: ## all tests, every statement
	@$(TEST) -run '$(ALONE)' ./internal/engine & alone=$$!; rest=0; \
	$(TEST) -p $(P) -skip '$(ALONE)' $(LONGEST) ./... || rest=1; \
	wait $$alone && exit $$rest

short: ## the tests that need neither databases nor browsers
	CGO_ENABLED=0 $(GO) test -short -vet=off -p $(P) -timeout 10m $(TESTFLAGS) ./...

# What the detector finds, it finds in memory: hence the short form.
race: ## the short form under the race detector
	@if [ "$$($(GO) env CGO_ENABLED)" = 1 ]; then .ci/race.sh -p $(P) $(UNWATCHED); \
	else echo 'The race detector needs a C compiler (gcc or clang), and there is none here.'; [ -z "$${CI:-}" ]; fi

benchmarks: ## each benchmark once
	CGO_ENABLED=0 $(GO) test -vet=off -run '^$$' -bench . -benchtime 1x -timeout 10m $(addprefix ./,$(call with,Benchmark))

fuzz: ## each fuzz target for a while: FUZZTIME, a second by default
	.ci/fuzz.sh $(or $(FUZZTIME),1s) $(addprefix ./,$(call with,Fuzz))

worlds: ## WORLDS simulated worlds (a million) from the seed FIRST (1) on, on all cores; what fails is printed as a command
	CGO_ENABLED=0 $(GO) test -vet=off -c -o bin/sim ./internal/sim
	@cores=$$(getconf _NPROCESSORS_ONLN); each=$$(( ($(or $(WORLDS),1000000) + cores - 1) / cores )); failed=0; \
	for i in $$(seq 0 $$((cores - 1))); do \
	  (cd internal/sim && ../../bin/sim -test.run P1_Worlds -test.v -test.timeout 0 -seeds $$each -first $$(( $(or $(FIRST),1) + i * each ))) & pids="$${pids:-} $$!"; \
	done; for pid in $$pids; do wait $$pid || failed=1; done; exit $$failed

mutants: ## plant faults in the engine one by one, and say which test finds each: hours
	$(GO) -C tools build -o "$(CURDIR)/bin/mutants" ./cmd/mutants
	bin/mutants $(MUTANTS)

# Another sample each night.
sample:
	$(MAKE) mutants MUTANTS="-n 20 -seed $$(date +%s)"

modules: bench lab tools

# One alone leaves processors idle: the demo of the README waits, and a compiler or a linker at the
# end of each works by itself.
others: ## benchmarks and modules, two at a time
	@$(MAKE) -j2 tools benchmarks bench lab

lab tools:
	CGO_ENABLED=0 $(GO) -C $@ vet ./... && CGO_ENABLED=0 $(GO) -C $@ test -vet=off -timeout $(or $(TIMEOUT),20m) ./...

# By day the systems that we are measured against are read and not compiled: that takes longer
# than to compile ours. At night each workload runs once on each of them.
bench: typecheck
	cd bench && ../bin/typecheck $$($(GO) env GOOS)
	$(if $(PERDURE_NIGHTLY),,CGO_ENABLED=0) $(GO) -C bench test -vet=off -timeout $(or $(TIMEOUT),20m) $(if $(PERDURE_NIGHTLY),./...,./internal/...)

# The analyzer of workflow code finds nothing in ours.
tools: analyzed
analyzed:
	CGO_ENABLED=0 $(GO) -C tools build -o "$(CURDIR)/bin/perdurevet" ./cmd/perdurevet
	CGO_ENABLED=0 $(GO) vet -vettool=bin/perdurevet ./...

release: ## archives and checksums of the tagged commit for every system, into dist
	GOFLAGS= $(GO) run $(GORELEASER) release --clean --skip=publish

.PHONY: help check quick nightly others setup static format modfiles vet lint cross typecheck test short race benchmarks fuzz modules bench lab tools analyzed worlds mutants sample release
