// Package realtest lets tests use real inference servers and real benchmark
// tools: Triton, llama.cpp, vLLM, transformers, a server that misbehaves on
// request, NVIDIA's perf_analyzer and GenAI-Perf.
//
// Each is installed on first use by the scripts under realservers/ into
// $REALSERVERS_HOME (default ~/.cache/pa-realservers). Servers listen on
// loopback, on ports that were free a moment before, and end with the test
// that started them.
//
//	s := realtest.StartOpenAI(t, "llamacpp")
//	r := realtest.Run(t, t.TempDir(), realtest.Program(t, "pa-record"), "-u", s.HTTP, …)
//	if r.Code != 0 {
//		t.Fatal(r)
//	}
//
// A program that does not end in time, or an installation or a start that fails, fails
// the test at once with the output so far.
//
// Everything here needs Linux on x86-64, where those servers run.
package realtest
