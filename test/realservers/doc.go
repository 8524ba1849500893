// Package realservers holds the tests that run pa-record and pa-analyze, as
// their users do, against real inference servers, beside NVIDIA's own
// perf_analyzer and GenAI-Perf.
//
// The scripts under realservers/ install servers and tools on first use into $REALSERVERS_HOME
// (default ~/.cache/pa-realservers), so the tests need a build tag, and Linux on x86-64:
//
//	make test-realservers
//	go test -tags realservers -count=1 -run TestGuide -v ./test/realservers/
//
// Servers listen on loopback, on ports that were free a moment before, and end with the test that
// started them. A program that does not end in time, or an installation or a start that fails,
// fails the test at once with the output so far.
//
// REALSERVERS=all adds the servers that are large or slow to start: vLLM and
// transformers. TestVLLM has what one vLLM can serve; other models and other
// options of it have tests of their own.
//
// Tests that compare no times run at the same time as each other, after the others.
//
// The tests compute the expected values of an export themselves, with encoding/json and
// math/big, without the packages under test.
package realservers
