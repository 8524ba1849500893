package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A load that needs more open files than the limit allows gets a warning before the run.
func TestWarnOfFiles(t *testing.T) {
	for _, tt := range []struct {
		args  string
		limit uint64
		want  string
	}{
		{"-m x --concurrency-range 1,1000", 1032, ""},
		{"-m x --concurrency-range 1,1000", 1031, "1000 connections need 1032 open files in all, but the limit is 1031; raise it first: ulimit -n 1032"},
		{"-m x --concurrency-range 1000 -u a,b", 1031, "2000 connections need 2032 open files in all, but the limit is 1031; raise it first: ulimit -n 2032"},
		{"-m x -i grpc --grpc-connections 4 --concurrency-range 1000 -u a,b", 40, ""},
		{"-m x -i grpc --grpc-connections 4 --concurrency-range 2", 34, ""},
		{"-m x --concurrency-range 1000 -u old=a -u new=b,c", 1032, "2000 connections need 2032 open files in all, but the limit is 1032; raise it first: ulimit -n 2032"},
		{"-u sim:// --concurrency-range 1000", 2031, "2000 connections need 2032 open files in all, but the limit is 2031; raise it first: ulimit -n 2032"},
	} {
		s, err := parse(t, "", strings.Fields(tt.args)...)
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		s.warnOfFiles(tt.limit)
		if got := strings.Join(s.warnings, "|"); got != tt.want {
			t.Errorf("%s, limit %d: %q, want %q", tt.args, tt.limit, got, tt.want)
		}
	}
}

// A closed loop that needs more memory than is free is refused before the run: it opens all of its slots.
func TestCheckMemory(t *testing.T) {
	const ranks = " --request-count 1x --rank 0 --world-size 4 --barrier 127.0.0.1:7788"
	for _, tt := range []struct {
		args  string
		free  uint64
		local int // ranks on this machine, as the launcher says
		want  string
	}{
		{"-m x --concurrency-range 1,1000", 65e6, 0, ""},
		{"-m x --concurrency-range 1,1000", 64e6, 0, "1,000 requests in flight need about 65.0 MB of memory and as many connections, but 64.0 MB are free; use a lower concurrency, or ranks on more machines (--world-size)"},
		{"-u sim:// --concurrency-range 9999999 --request-count 20", 24e9, 0, "9,999,999 requests in flight need about 650 GB of memory"},
		{"-m x --concurrency-range 1000 --ramp-up 10s", 64e6, 0, "1,000 requests in flight need"},
		{"-m x --service-kind openai --session-concurrency 1000", 64e6, 0, "1,000 requests in flight need"},
		{"-m x -i grpc --streaming --periodic-concurrency-range 1:1001:100", 64e6, 0, "1,001 requests in flight need"},
		{"-m x --concurrency-range 1000" + ranks, 33e6, 1, ""},
		{"-m x --concurrency-range 1000" + ranks, 32e6, 2, "500 requests in flight need"},
		{"-m x --request-rate-range 10 --max-concurrency 9999999", 64e6, 0, ""}, // slots open as its requests need them
	} {
		s, err := parse(t, "", strings.Fields(tt.args)...)
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		s.world.LocalSize = tt.local
		got := ""
		if err := s.checkMemory(tt.free); err != nil {
			got = err.Error()
		}
		if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s, %d bytes: %q, want %q", tt.args, tt.free, got, tt.want)
		}
	}
	args := []string{"-m", "m", "-u", "sim://", "--service-kind", "openai", "--concurrency-range", "999999999", "--request-count", "2"}
	if code, _, stderr := inProcess(t.Context(), t, append(args, "--dry-run")...); code != 0 || !strings.Contains(stderr, "warning: this machine would refuse the run: 999,999,999 requests in flight need about 65.0 TB of memory") {
		t.Errorf("dry run: exit code %d, want 0: %s", code, stderr)
	}
	if code, _, stderr := inProcess(t.Context(), t, args...); code != 2 || !strings.Contains(stderr, "999,999,999 requests in flight need about 65.0 TB of memory") {
		t.Errorf("exit code %d, want 2: %s", code, stderr)
	}
}

// A load that needs more local ports than there are gets a warning before the run.
func TestWarnOfPorts(t *testing.T) {
	const ranks = " --request-count 1x --rank 0 --world-size 4 --barrier 127.0.0.1:7788"
	for _, tt := range []struct {
		args  string
		ports int
		local int // ranks on this machine, as the launcher says
		want  string
	}{
		{"-m x --concurrency-range 1,1000", 1000, 0, ""},
		{"-m x --concurrency-range 1,1001", 1000, 0, "1001 connections to one server address need as many local ports, but there are 1000; widen net.ipv4.ip_local_port_range, or give several --source-ip or -u"},
		{"-m x --concurrency-range 1001 -u a,b", 1000, 0, "1001 connections to one server address need as many local ports, but there are 1000; widen net.ipv4.ip_local_port_range, or give several --source-ip or -u"},
		{"-m x --concurrency-range 2000 --source-ip 127.0.0.1 --source-ip 127.0.0.2", 1000, 0, ""},
		{"-m x --concurrency-range 2001 --source-ip 127.0.0.1 --source-ip 127.0.0.2", 1000, 0, "2001 connections to one server address need as many local ports, but there are 2000; widen net.ipv4.ip_local_port_range, or give several --source-ip or -u"},
		{"-m x -i grpc --grpc-connections 4 --concurrency-range 4000", 1000, 0, ""},
		{"-m x --concurrency-range 4000" + ranks, 1000, 1, ""},
		{"-m x --concurrency-range 4000" + ranks, 1000, 2, "2000 connections to one server address need as many local ports, but there are 1000; widen net.ipv4.ip_local_port_range, or give several --source-ip or -u"},
		// A port rests for a minute: 600 requests a second use 36,000.
		{"-m x --request-rate-range 100,600 --connection-reuse fresh", 36000, 0, ""},
		{"-m x --request-rate-range 100,600 --connection-reuse fresh", 35999, 0, "600 requests/s with --connection-reuse fresh use up the local ports: a closed connection blocks its port for 1m0s, and there are 35,999; keep connections, give several --source-ip or -u, or widen net.ipv4.ip_local_port_range"},
		{"-m x --request-rate-range 600 --connection-reuse fresh -u a,b", 18000, 0, ""},
		{"-m x --request-rate-range 600 --connection-reuse fresh --source-ip 127.0.0.1 --source-ip 127.0.0.2", 18000, 0, ""},
		{"-m x --request-rate-range 600", 100, 0, ""},
	} {
		s, err := parse(t, "", strings.Fields(tt.args)...)
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		s.world.LocalSize = tt.local
		s.warnOfPorts(tt.ports)
		if got := strings.Join(s.warnings, "|"); got != tt.want {
			t.Errorf("%s, %d ports: %q, want %q", tt.args, tt.ports, got, tt.want)
		}
	}
}

// The CPU times of warnOfCPU are the measured ones of the documentation.
func TestCostsAsMeasured(t *testing.T) {
	micros := func(ns int64) string { return fmt.Sprint(float64(ns) / 1000) }
	page := func(name string) string {
		text, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	benchmarks := page("benchmarks.md")
	for _, want := range []string{
		"| What does a token cost? | " + micros(loopTokenCPU.Nanoseconds()) + " µs of CPU time at 512 streams",
		"\n| loop | " + micros(loopTokenCPU.Nanoseconds()) + " | ",
		"\n| nethttp | " + micros(netHTTPTokenCPU.Nanoseconds()) + " | ",
		"Triton gRPC streams cost " + micros(grpcTokenCPU.Nanoseconds()) + " µs per event",
	} {
		if !strings.Contains(benchmarks, want) {
			t.Errorf("docs/benchmarks.md lacks %q", want)
		}
	}
	_, row, _ := strings.Cut(page("scale.md"), "| CPU per event, pa-record | server |")
	_, row, _ = strings.Cut(row, "\n| 1,024 | ")
	row, _, _ = strings.Cut(row, "\n")
	cells := strings.Split(row, " | ")
	var client, server float64
	if _, err := fmt.Sscanf(strings.Join(cells[max(0, len(cells)-2):], " "), "%g µs %g µs", &client, &server); err != nil {
		t.Fatalf("docs/scale.md, 1,024 streams: %q: %v", row, err)
	}
	if got := fmt.Sprintf("%.1f", 1+server/client); got != fmt.Sprint(withSimulator) {
		t.Errorf("docs/scale.md: client and server take %s times the client, want %v", got, withSimulator)
	}
}

// A load that needs more CPU time than the machine has gets a warning before the run. The
// numbers are calculated by hand from the costs in docs/benchmarks.md.
func TestWarnOfCPU(t *testing.T) {
	const openAI = "--service-kind openai -m x --streaming "
	const ranks = " --request-count 1x --rank 0 --world-size 4 --barrier 127.0.0.1:7788"
	for _, tt := range []struct {
		args  string
		cores int
		local int    // ranks on this machine, as the launcher says
		want  string // before "; the times of tokens"
	}{
		// 50 tokens/s at 11.4 µs are 0.57 ms of CPU time a second.
		{openAI + "--transport loop --concurrency-range 1,3508", 2, 0, ""},
		{openAI + "--transport loop --concurrency-range 1,3509", 2, 0, "3,509 streams at an assumed 50 tokens per second need about 2.0 cores, but this machine has 2"},
		{openAI + "--transport loop --concurrency-range 4000", 2, 0, "4,000 streams at an assumed 50 tokens per second need about 2.3 cores, but this machine has 2"},
		{openAI + "--transport loop --concurrency-range 4000", 4, 0, ""},
		// At 16.3 µs they are 0.815 ms.
		{openAI + "--transport nethttp --concurrency-range 4000", 3, 0, "4,000 streams at an assumed 50 tokens per second need about 3.3 cores, but this machine has 3"},
		// At 19.4 µs they are 0.97 ms.
		{"-m x -i grpc --streaming --concurrency-range 1030", 1, 0, ""},
		{"-m x -i grpc --streaming --concurrency-range 1300", 1, 0, "1,300 streams at an assumed 50 tokens per second need about 1.3 cores, but this machine has 1"},
		// Ranks divide the load; the ranks on this machine share its cores.
		{openAI + "--transport loop --concurrency-range 4000" + ranks, 1, 1, ""},
		{openAI + "--transport loop --concurrency-range 4000" + ranks, 2, 4, "4,000 streams at an assumed 50 tokens per second need about 2.3 cores, but this machine has 2"},
		// A simulated server in the process takes 1.6 times as much.
		{"--service-kind openai --streaming --transport loop -u sim:// --concurrency-range 2000", 2, 0, "2,000 streams at an assumed 50 tokens per second need about 3.0 cores, but this machine has 2"},
		// 100 requests/s: 20 ms, and 100 × 1,000 tokens at 11.4 µs are 1.14 s.
		{openAI + "--transport loop --request-rate-range 10,100 --output-tokens-mean 1000", 1, 0, "100 requests per second for 1,000 tokens each need about 1.2 cores, but this machine has 1"},
		{openAI + "--transport loop --request-rate-range 10,100 --output-tokens-mean 1000", 2, 0, ""},
		{openAI + "--transport loop --request-rate-range 100 --output-tokens-mean 1000" + ranks, 1, 0, ""},
		// Without a length, or without streaming, the requests alone count.
		{openAI + "--transport loop --request-rate-range 5001", 1, 0, "5,001 requests per second need about 1.0 cores, but this machine has 1"},
		{"--service-kind openai -m x --request-rate-range 4000 --output-tokens-mean 1000", 1, 0, ""},
		{"--service-kind openai -m x --concurrency-range 9000", 1, 0, ""},
	} {
		s, err := parse(t, "", strings.Fields(tt.args)...)
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		s.world.LocalSize = tt.local
		s.warnOfCPU(tt.cores)
		got := strings.Join(s.warnings, "|")
		if tt.want != "" {
			tt.want += "; the times of tokens are inexact while no core is free: record with ranks on more machines (--world-size, --barrier), or with less load"
		}
		if got != tt.want {
			t.Errorf("%s, %d cores: %q, want %q", tt.args, tt.cores, got, tt.want)
		}
	}
}
