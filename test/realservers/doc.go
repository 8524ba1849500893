// Package realservers holds the tests that run pa-record and pa-analyze, as
// their users do, against real inference servers, beside NVIDIA's own
// perf_analyzer and GenAI-Perf.
//
// They install servers and tools on first use (see realservers/ and package
// realtest), so they need a build tag:
//
//	make test-realservers
//	go test -tags realservers -count=1 -run TestGuide -v ./test/realservers/
//
// REALSERVERS=all adds the servers that are large or slow to start: vLLM and
// transformers.
//
// The tests compute the expected values of an export themselves, with encoding/json and
// math/big, without the packages under test.
package realservers
