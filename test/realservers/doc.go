// Package realservers holds the tests that run pa-record and pa-analyze, as
// their users do, against real inference servers, beside NVIDIA's own
// perf_analyzer and GenAI-Perf.
//
// They install those on first use (see realservers/ and package realtest) and
// so sit behind a build tag:
//
//	make test-realservers
//	go test -tags realservers -count=1 -run TestGuide -v ./test/realservers/
//
// REALSERVERS=all adds the servers that are large or slow to start: vLLM and
// transformers.
//
// What a test expects of an export is computed here anew, with encoding/json
// and math/big: nothing is taken from the packages under test.
package realservers
