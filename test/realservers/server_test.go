//go:build realservers

package realservers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/test/golden"
)

// A server is a real server on loopback. It ends with the test that started
// it.
type server struct {
	HTTP string // host:port
	GRPC string // host:port; "" where the server speaks no gRPC
	// Metrics is the URL of the metrics in the format of Prometheus; "" where there
	// are none.
	Metrics string
	// Traces begins the names of the files of traces; "" where there are none.
	Traces string
	// PID is the process to signal in tests of servers that die.
	PID int
}

// The ports that Triton and its clients use unless told otherwise.
const (
	tritonHTTP    = 8000
	tritonGRPC    = 8001
	tritonMetrics = 8002
)

// startTriton starts Triton with the model repository
// realservers/triton/<models>.
func startTriton(tb testing.TB, models string) *server {
	tb.Helper()
	ports := freePorts(tb, 3)
	return startTritonOn(tb, models, ports[0], ports[1], ports[2])
}

// startTritonOnDefaultPorts is startTriton on the ports 8000 to 8002, so that
// clients find it without a URL. ok is false when one of them is taken.
func startTritonOnDefaultPorts(tb testing.TB, models string) (s *server, ok bool) {
	tb.Helper()
	for _, port := range []int{tritonHTTP, tritonGRPC, tritonMetrics} {
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			return nil, false
		}
		l.Close()
	}
	return startTritonOn(tb, models, tritonHTTP, tritonGRPC, tritonMetrics), true
}

func startTritonOn(tb testing.TB, models string, http, grpc, metrics int) *server {
	tb.Helper()
	install(tb, "triton/install.sh")
	log := filepath.Join(tb.TempDir(), "triton.log")
	dir := filepath.Join(golden.Root(tb), "realservers", "triton")
	pid := serve(tb, log, filepath.Join(dir, "serve.sh"),
		"-H", strconv.Itoa(http), "-G", strconv.Itoa(grpc), "-M", strconv.Itoa(metrics),
		"-r", filepath.Join(dir, models), "-l", log)
	return &server{HTTP: loopback(http), GRPC: loopback(grpc), Metrics: "http://" + loopback(metrics) + "/metrics", Traces: log + ".trace", PID: pid}
}

// startOpenAI starts a server of the OpenAI API with a tiny random model that
// is called "tiny". kind is "llamacpp", "vllm", "transformers" or "whisper"; args go to
// the server.
func startOpenAI(tb testing.TB, kind string, args ...string) *server {
	tb.Helper()
	install(tb, "openai/install.sh", kind)
	port := strconv.Itoa(freePorts(tb, 1)[0])
	log := filepath.Join(home(tb), "openai", "log."+kind+"."+port)
	tb.Cleanup(func() { _ = os.Remove(log) }) // after the server's end
	pid := serve(tb, log, filepath.Join(golden.Root(tb), "realservers", "openai", "serve.sh"), append([]string{port, kind}, args...)...)
	s := &server{HTTP: "127.0.0.1:" + port, PID: pid}
	if kind != "transformers" {
		s.Metrics = "http://" + s.HTTP + "/metrics"
	}
	return s
}

// serve runs a serve.sh, which leaves the server running and prints its
// process id, and ends the server with the test. log is shown if the test
// fails.
func serve(tb testing.TB, log, script string, args ...string) (pid int) {
	tb.Helper()
	cmd := exec.Command(script, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%s %s: %v\n%s%s", script, strings.Join(args, " "), err, &stderr, tail(log))
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		tb.Fatalf("%s: printed %q, want a process id", script, out)
	}
	p, err := openProcess(pid)
	if err != nil {
		tb.Fatalf("%s: process %d: %v\n%s", script, pid, err, tail(log))
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the end of the server's log:\n%s", tail(log))
		}
		if err := p.stop(); err != nil {
			tb.Errorf("%s: process %d: %v", script, pid, err)
		}
	})
	return pid
}

// freePorts returns n different TCP ports of loopback on which nothing
// listens.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", loopback(0))
		if err != nil {
			tb.Fatal(err)
		}
		defer l.Close() // held until all are found, so that they differ
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// tail returns the last 10 lines of a file, each cut to a readable length, or
// why there are none.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	lines = lines[max(0, len(lines)-10):]
	for i, l := range lines {
		lines[i] = sanitize.Clip(l, 200)
	}
	return strings.Join(lines, "\n")
}
