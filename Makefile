# Needs GNU make, Go and a module proxy; "make help" lists the targets.

GO      ?= go
VERSION ?= $(shell sh tools/version.sh)
LDFLAGS  = -s -w -X main.version=$(VERSION)
GOBUILD  = $(RARE_GC) $(GO) build -ldflags '$(LDFLAGS)'

# Flags of all go commands here, so that programs, tests and tools share what is compiled. Arrow, the only module
# that knows the tag tinygo, then uses encoding/json; without the tag it brings a JSON library of its own, and no code
# of ours reaches either. With grpcnotrace gRPC leaves out its pages for debugging. Debugging information (DWARF)
# takes a tenth of the time, and the programs are stripped of it; stack traces and profiles do without.
export GOFLAGS := -buildvcs=false -trimpath -tags=tinygo,grpcnotrace -gcflags=all=-dwarf=false $(GOFLAGS)

# Rare garbage collections save CPU time of compilers and tests.
RARE_GC = GOGC=400

# Nothing here needs a C compiler but make race, and whatever is built without cgo shares the
# packages that the others have compiled.
export CGO_ENABLED = 0

# What make dist builds, as GOOS_GOARCH.
PLATFORMS ?= linux_amd64 linux_arm64 darwin_amd64 darwin_arm64 windows_amd64 windows_arm64

FUZZTIME  ?= 10s
FUZZFLAGS ?=
BENCH     ?= .
BENCHTIME ?= 1s
COUNT     ?= 1
SECTIONS  ?= clock,grpc,cpu,schedule
REPS      ?= 5
STREAMS   ?= 64,512,1024
REQUESTS  ?= 10000
TOKENS    ?= 100
LENGTH    ?= 16s
CHECK     ?=
DURATION  ?= 1h
KILLS     ?= 200
TESTFLAGS ?=
OUT       ?= out


.DEFAULT_GOAL := build

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/pa-record and bin/pa-analyze (static, the default)
	@mkdir -p bin
	$(GOBUILD) -o bin/ ./cmd/...

.PHONY: goflags
goflags: ## print the flags of go commands: with CGO_ENABLED=0 and these in GOFLAGS, yours share what make has compiled
	@echo '$(strip $(GOFLAGS))'

PREFIX ?= $(HOME)/.local

.PHONY: install
install: build ## copy both into PREFIX/bin (PREFIX=~/.local unless given)
	install -d $(PREFIX)/bin
	install -m 755 bin/pa-record bin/pa-analyze $(PREFIX)/bin/
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo 'PATH lacks $(PREFIX)/bin; add it: export PATH=$(PREFIX)/bin:$$PATH' ;; esac

# make lint vets.
TESTALL = $(GO) test -vet=off $(TESTFLAGS)

.PHONY: test
test: ## run the tests; needs nothing but Go
	$(RARE_GC) $(TESTALL) ./...

.PHONY: test-long
test-long: ## the same with all sweeps of damage, floods and huge values in full; CI runs this
	$(RARE_GC) PA_TEST_LONG=1 $(TESTALL) -timeout 30m ./...

.PHONY: test-crash
test-crash: ## kill pa-record KILLS (200) times at random moments, and compare what it left with what the server sent
	PA_TEST_LONG=1 PA_TEST_KILLS=$(KILLS) $(GO) test -count=1 -timeout 60m -v -run '^TestKills$$' $(TESTFLAGS) ./cmd/pa-record/

.PHONY: test-linear
test-linear: ## hold the commands of pa-analyze to 2.5 times the CPU time for twice as many levels, requests, sessions, models, …
	PA_TEST_LINEAR=1 $(GO) test -count=1 -timeout 10m -v -run '^TestLinear$$' $(TESTFLAGS) ./cmd/pa-analyze/

# The packages whose code or tests start goroutines; pkg/analyze, because the goroutines of a reader measure its
# requests; and two packages whose parallel tests share a value that is safe for concurrent use. In the other
# packages, parallel tests at most share tables that nothing writes.
RACE = ./pkg/analyze ./pkg/tokenizer ./pkg/recorder/workload/render $(addprefix ./,$(sort $(patsubst %/,%,$(dir $(shell grep -rlE --include='*.go' '^[[:space:]]*go [a-zA-Z]|\.Go\>' cmd internal pkg test)))))

# Programs with the race detector sleep for a second before they exit, and the tests
# start hundreds of them.
.PHONY: race
race: ## run the tests of packages with goroutines under the race detector; needs a C compiler
	$(RARE_GC) GORACE="atexit_sleep_ms=50 $$GORACE" CGO_ENABLED=1 $(TESTALL) -race -timeout 30m $(RACE)

.PHONY: lint
lint: bin/tools/golangci-lint bin/tools/deadcode ## golangci-lint, which vets too, and deadcode, as CI runs them
	$(RARE_GC) bin/tools/golangci-lint run ./...
	@mkdir -p $(OUT)
	$(RARE_GC) bin/tools/deadcode ./cmd/... ./test/... >$(OUT)/deadcode.txt
	@awk 'NR == FNR { if ($$1 !~ /^#/) kept[$$1]++; next } \
		$$1 ~ "^internal/test/" { next } # of which tests use what programs do not \
		{ split($$1, at, ":"); name = at[1] ":" $$NF } \
		name in kept { delete kept[name]; next } \
		{ print; bad = 1 } \
		END { for (name in kept) { print "tools/deadcode.txt: " name ": is used, or gone"; bad = 1 }; exit bad }' tools/deadcode.txt $(OUT)/deadcode.txt

.PHONY: fmt
fmt: bin/tools/golangci-lint ## format the tree
	bin/tools/golangci-lint fmt

.PHONY: quickstart
quickstart: build ## record against the built-in simulated server, then print the report
	@rm -rf $(OUT)/quickstart && mkdir -p $(OUT)/quickstart
	bin/pa-record -u 'sim://?ttft=normal:30ms,5ms&itl=5ms&output_tokens=32' --concurrency-range 1,4 --duration 3s \
		--profile-export-file $(OUT)/quickstart/profile_export.json
	bin/pa-analyze report $(OUT)/quickstart/profile_export.json

.PHONY: site
site: gallery-pages ## make a static site of docs/ in out/site: open out/site/index.html (the pages of the gallery: Linux)
	gallery=$(abspath $(OUT))/gallery; $(GO) run -C tools/site . -root ../.. $$(test ! -d "$$gallery" || echo -gallery "$$gallery") -out $(abspath $(OUT))/site

.PHONY: gallery
gallery: gallery-pages test/browser/node_modules ## make the pages of docs/gallery in out/gallery, and its pictures (Linux, Node.js 20, chromium; RECORD=1 records again from real servers)
	node test/browser/gallery.mjs $(OUT)/gallery docs/gallery/images

.PHONY: gallery-pages
gallery-pages: $(if $(RECORD),gallery-record)
	@rm -rf $(OUT)/gallery
	$(GO) test -count=1 -run '^TestBlocks$$/^docs$$/^gallery$$' ./test/docs -gallery $(abspath $(OUT))/gallery $(if $(RECORD),-update)

.PHONY: gallery-record
gallery-record: build
	docs/gallery/record.sh

.PHONY: bench
bench: build ## exactness, CPU time and memory under load, as tables (SECTIONS=clock,grpc,cpu,rank,schedule REPS=5 STREAMS=64,512,1024; memory: SECTIONS=memory; on files: SECTIONS=analysis,definitions,columnar)
	$(GO) run ./test/loadbench -record bin/pa-record -reps $(REPS) -streams $(STREAMS) -sections $(SECTIONS) \
		-analyze bin/pa-analyze -requests $(REQUESTS) -tokens $(TOKENS) -length $(LENGTH) $(if $(CHECK),-check)

.PHONY: bench-peers
bench-peers: REPS = 3
bench-peers: STREAMS = 64,512,1400
bench-peers: build ## the same beside the Rust clients of vLLM and SGLang, which it installs on first use (REPS=3 STREAMS=64,512,1400; Linux, Python, 12 minutes)
	peers=$$(realservers/peers/install.sh $(OUT)/peers) && \
		$(GO) run ./test/loadbench -record bin/pa-record -reps $(REPS) -streams $(STREAMS) -sections peers \
		-rounds 4 -tokens 200 -peers "$$peers"

.PHONY: soak
soak: build ## record 512 streams for DURATION (1h), and compare the last tenth with the first: memory, goroutines, descriptors, the clock (6 MB of $TMPDIR a second)
	$(GO) run ./test/loadbench -record bin/pa-record -sections soak -soak $(DURATION)

.PHONY: microbench
microbench: ## run the Go benchmarks into out/bench.txt (BENCH=regexp COUNT=6 BENCHTIME=1s)
	@mkdir -p $(OUT)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) ./... >$(OUT)/bench.txt; \
		status=$$?; grep -Ev '^(ok|\?|PASS)' $(OUT)/bench.txt; exit $$status

.PHONY: bench-diff
bench-diff: bin/tools/benchstat ## compare two results of make microbench (OLD=a.txt NEW=b.txt)
	bin/tools/benchstat $(OLD) $(NEW)

.PHONY: stats-validation
stats-validation: ## simulate what the statistics of a comparison promise, and print the tables (an hour and a half)
	$(GO) run ./test/statsvalidation

.PHONY: diff-validation
diff-validation: build ## compare recordings of servers that are the same and that differ by a known amount (30 minutes; installs them on first use)
	DIFF_PAIRS=20 $(GO) test -tags realservers,tinygo,grpcnotrace -count=1 -timeout 40m -v -run 'TestDiffOfTheSame|TestShortRunsTell|TestSeveralRunsTell' ./test/realservers/

# Minimizing an input of several kilobytes takes up to a minute by default, in which
# nothing else is tried; 10 tries are enough.
.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	$(GO) test -run '^$$' ./... >/dev/null
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$package; \
		done; \
	done

# The inputs that the fuzzer keeps are thrown away each time, so that they stay small; an input
# that fails a test stays in testdata/fuzz of its package.
.PHONY: fuzz-readers
fuzz-readers: FUZZTIME = 1m
fuzz-readers: ## fuzz every reader for FUZZTIME (1m), its memory bounded by a multiple of the input (FUZZFLAGS=-parallel=1)
	@rm -rf $(OUT)/fuzz && mkdir -p $(OUT)/fuzz
	@set -e; grep -rl --include='*_test.go' 'testenv\.BoundMemory(' internal pkg cmd | sort | while read -r file; do \
		awk '/^func Fuzz/ { name = $$2; sub(/\(.*/, "", name) } /testenv\.BoundMemory\(/ && name != "" { print name; name = "" }' $$file | while read -r target; do \
			echo "== $$(dirname $$file) $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $(FUZZFLAGS) ./$$(dirname $$file) -args -test.fuzzcachedir=$(abspath $(OUT))/fuzz/$$(dirname $$file) </dev/null; \
		done; \
	done

# The files of a release have the time of the commit, so that a second build gives the same bytes.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

.PHONY: dist
dist: build $(PLATFORMS:%=dist-%) ## make a release in dist/: archives, packages, wheels, image, formula, SBOM, checksums
	$(RARE_GC) $(GO) run -C tools/release . -binaries ../../dist/bin -host ../../bin -root ../.. -out ../../dist \
		-version '$(VERSION)' -time $(SOURCE_DATE_EPOCH)

.PHONY: dist-clean
dist-clean:
	rm -rf dist

.PHONY: $(PLATFORMS:%=dist-%)
$(PLATFORMS:%=dist-%): dist-%: dist-clean
	@mkdir -p dist/bin/$*
	GOOS=$(word 1,$(subst _, ,$*)) GOARCH=$(word 2,$(subst _, ,$*)) $(GOBUILD) -o dist/bin/$*/ ./cmd/...

.PHONY: test-dist
test-dist: ## install what make dist made, and run it (Linux: dpkg-deb, rpm2cpio, cpio, skopeo, Python)
	$(RARE_GC) $(GO) test -C tools/release -tags dist -count=1 $(TESTFLAGS) .

.PHONY: test-hosts
test-hosts: ## hold the times of 100,000 messages a protocol to a capture, between two networks of this machine (Linux; 6 minutes)
	HOSTS_MESSAGES=100000 $(GO) test -count=1 -timeout 15m -v -run 'TestStampsBetweenHosts|TestStampsOverLossyLink' -parallel 1 $(TESTFLAGS) ./cmd/pa-record

.PHONY: test-realservers
test-realservers: build ## test against real servers and tools; installs them on first use (Linux x86-64, Python)
	$(GO) test -tags realservers,tinygo,grpcnotrace -count=1 -timeout 40m $(TESTFLAGS) ./test/realservers/...

# Done once for each state of the lists.
$(OUT)/venv/.complete: test/columnar/requirements.txt test/publish/requirements.txt test/python/requirements.txt
	@test -x $(OUT)/venv/bin/pip || python3 -m venv $(OUT)/venv
	$(OUT)/venv/bin/pip install -q --disable-pip-version-check $(patsubst %,-r %,$^)
	@touch $@

.PHONY: python-packages
python-packages: $(OUT)/venv/.complete ## install what readback and test-python need

.PHONY: readback
readback: build python-packages ## read tables with pyarrow, DuckDB, polars, pandas, Spark and ClickHouse, run the queries of pa-analyze sql, and read what pa-analyze write makes with MLflow and others (Python)
	$(OUT)/venv/bin/kubernetes-validate --strict examples/kubernetes/*.yaml
	@rm -rf $(OUT)/columnar && mkdir -p $(OUT)/columnar
	PA_TEST_READBACK=$(abspath $(OUT))/columnar $(GO) test -count=1 -run '^TestWriteForReadback$$' ./pkg/export/formats
	$(OUT)/venv/bin/python test/columnar/readback.py $(OUT)/columnar
	$(OUT)/venv/bin/python test/columnar/queries.py bin/pa-analyze $(OUT)/columnar
	$(OUT)/venv/bin/python test/columnar/sessions.py bin/pa-analyze $(OUT)/columnar
	@rm -rf $(OUT)/publish && mkdir -p $(OUT)/publish
	bin/pa-record -u 'sim://?ttft=normal:30ms,5ms&itl=5ms&output_tokens=16' --concurrency-range 1,4 --duration 2s --profile-export-file $(OUT)/publish/run.json --quiet
	$(OUT)/venv/bin/python test/publish/readback.py bin/pa-analyze $(OUT)/publish/run.json $(OUT)/publish
	$(MAKE) --no-print-directory test-python

# Without PYTHONUSERBASE the package would prefer the pa-analyze that make install has put into ~/.local/bin.
.PHONY: test-python
test-python: build python-packages ## check the types of the Python package pa, and run its tests (Python)
	cd python && $(abspath $(OUT))/venv/bin/mypy -p pa
	PATH=$(abspath bin):$$PATH PYTHONUSERBASE=$(abspath $(OUT))/no-user PYTHONPATH=python $(OUT)/venv/bin/python -m pytest -q -p no:cacheprovider test/python

.PHONY: test-quality
test-quality: build ## compute the groups of metrics anew from 2,000 random exports (Python)
	@rm -rf $(OUT)/quality
	python3 test/quality/quality.py bin/pa-analyze $(OUT)/quality
	python3 test/quality/economics.py bin/pa-analyze $(OUT)/quality/economics

.PHONY: test-trace
test-trace: build ## read the traces of recorded runs by the format's documentation (Python)
	@rm -rf $(OUT)/trace && mkdir -p $(OUT)/trace
	bin/pa-record -u 'sim://?ttft=normal:30ms,5ms&itl=5ms&output_tokens=16' --concurrency-range 1,4 --duration 2s --profile-export-file $(OUT)/trace/closed.json --quiet
	bin/pa-record -u 'sim://?ttft=normal:30ms,5ms&itl=5ms&output_tokens=16' --request-rate 50 --duration 2s --profile-export-file $(OUT)/trace/open.parquet --quiet
	bin/pa-record -u 'sim://?ttft=normal:30ms,5ms&itl=5ms&output_tokens=16' --num-sessions 12 --session-turns-mean 3 --session-turn-delay-mean 20 --session-concurrency 4 --request-count 60 --profile-export-file $(OUT)/trace/sessions.json --quiet
	python3 test/trace/trace.py bin/pa-analyze $(OUT)/trace/closed.json $(OUT)/trace/open.parquet $(OUT)/trace/sessions.json

.PHONY: test-browser
test-browser: build site test/browser/node_modules ## drive pages of recorded runs and the site of the documentation in headless Chromium (Node.js 20, chromium; ARTIFACTS=folder LARGE=requests)
	node --test test/browser/pages.test.mjs
	node --test test/browser/site.test.mjs

test/browser/node_modules: test/browser/package-lock.json
	npm ci --prefix test/browser --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: test-tokenizers
test-tokenizers: build $(OUT)/tokenizers/bin/python $(OUT)/transformers4/bin/python ## hold tokenizers and made-up prompts to the Hugging Face libraries (Python, TOKENIZERS='a.json folder')
	$(OUT)/tokenizers/bin/python test/tokenizers/compare.py bin/pa-analyze $(TOKENIZERS)
	$(OUT)/transformers4/bin/python test/tokenizers/compare.py bin/pa-analyze $(TOKENIZERS)
	PA_TEST_PYTHON=$(abspath $(OUT))/tokenizers/bin/python \
		PA_TEST_TOKENIZERS='$(abspath pkg/tokenizer/builtin/tokenizer.json testdata/tokenizers/tok-llama/tokenizer.json testdata/tokenizers/tok-bytebpe/tokenizer.json $(filter %.json,$(TOKENIZERS)))' \
		$(GO) test -count=1 -timeout 60m -v -run '^TestLengthsByLibrary$$' ./pkg/recorder/workload/synth

.PHONY: bench-tokenizers
bench-tokenizers: $(OUT)/tokenizers/bin/python ## speed of the tokenizers beside the Hugging Face library (Python, TOKENIZERS='a.json b.json')
	PA_TEST_PYTHON=$(abspath $(OUT))/tokenizers/bin/python PA_TEST_TOKENIZERS='$(abspath $(or $(TOKENIZERS),pkg/tokenizer/builtin/tokenizer.json))' \
		$(GO) test -count=1 -timeout 60m -v -run '^TestPaceBesideLibrary$$' ./pkg/tokenizer

$(OUT)/transformers4/bin/python: test/tokenizers/requirements-transformers4.txt
	python3 -m venv $(OUT)/transformers4
	$(OUT)/transformers4/bin/pip install -q --disable-pip-version-check -r test/tokenizers/requirements-transformers4.txt

$(OUT)/tokenizers/bin/python: test/tokenizers/requirements.txt
	python3 -m venv $(OUT)/tokenizers
	$(OUT)/tokenizers/bin/pip install -q --disable-pip-version-check -r test/tokenizers/requirements.txt
	@touch $@

.PHONY: vulncheck
vulncheck: bin/tools/govulncheck ## look for known vulnerabilities (needs the online database, or VULNDB=file:///dir)
	bin/tools/govulncheck $(if $(VULNDB),-db $(VULNDB)) ./...

# The tools have a module of their own, so that theirs are not our dependencies.
bin/tools/%: tools/go.mod tools/go.sum
	@mkdir -p bin/tools
	$(RARE_GC) $(GO) build -modfile=tools/go.mod -o bin/tools/ \
		$$(awk '/^tool \(/ { on = 1; next } /^\)/ { on = 0 } on && $$1 ~ "/$*$$" { print $$1 }' tools/go.mod)

.PHONY: clean
clean: ## remove what the targets above have written
	rm -rf bin dist $(OUT)
