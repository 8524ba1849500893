//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/sim"
)

// windowModes are flags of windows that end, but of which there are enough for
// hours.
var windowModes = map[string][]string{
	"time windows":  {"--measurement-interval", "100", "-s", "0", "--max-trials", "100000"},
	"count windows": {"--measurement-mode", "count_windows", "--measurement-request-count", "10", "-s", "0", "--max-trials", "100000"},
	// The count is never reached.
	"a large count": {"--measurement-mode", "count_windows", "--measurement-request-count", "1000000"},
}

// windowRequests is the number of answered requests after which the test breaks a run off. At
// least three windows have ended by then, except with a large count, whose window never ends.
var windowRequests = map[string]int{"time windows": 120, "count windows": 50, "a large count": 20}

// checkWindows checks that the requests of an export that were good are in its
// windows: each in one, and in each as many as it should hold.
func checkWindows(t *testing.T, run *export.Run, requests []export.Request, mode string) (good int) {
	t.Helper()
	windows := pawindow.Cut(run.Experiments[0].WindowBoundaries)
	in := make([]int, len(windows))
	for i := range requests {
		r := &requests[i]
		if r.Excluded() != export.NotExcluded {
			continue
		}
		end, _, ok := pawindow.End(r, pawindow.NullLast(r, *run.ServiceKind == kindOpenAI))
		at := pawindow.Find(windows, end)
		if !ok || at < 0 {
			t.Errorf("request %d is in none of %d windows", r.ID, len(windows))
			continue
		}
		in[at]++
		good++
	}
	for i, n := range in {
		if last := i == len(in)-1; mode == "count windows" && !last && n < 10 {
			t.Errorf("window %d of %d has %d requests, want 10 or more", i, len(in), n)
		}
		if d := windows[i].Duration(); mode == "time windows" && d.Milliseconds() != 100 && i < len(in)-1 {
			t.Errorf("window %d of %d is of %v, want 100ms", i, len(in), d)
		}
	}
	if mode == "a large count" && len(windows) != 1 || mode != "a large count" && len(windows) < 3 {
		t.Errorf("%d windows", len(windows))
	}
	return good
}

// A run in windows that is interrupted, or whose server is killed, keeps what it
// had. perf_analyzer waits for its count for ever, or writes nothing.
func TestWindowsBreakOff(t *testing.T) {
	t.Parallel()
	for mode, flags := range windowModes {
		for _, event := range []string{"SIGINT", "the server killed"} {
			if testenv.Race && mode == "time windows" {
				continue // the code is the same
			}
			if mode == "time windows" && event == "SIGINT" && !testenv.IsLong() {
				continue // make test sends SIGINT in the other modes
			}
			if mode == "a large count" && event != "SIGINT" && !testenv.IsLong() {
				continue // make test kills the server in the other modes
			}
			t.Run(mode+", "+event, func(t *testing.T) {
				t.Parallel()
				srv, server := startMortalSim(t, "--ttft", "5ms", "--itl", "2ms", "--output-tokens", "4")
				path := filepath.Join(t.TempDir(), "x.json")
				args := append([]string{
					"--service-kind", "openai", "-u", srv.openAI, "--streaming", "--concurrency-range", "4",
					"--max-error-rate", "5%", "--profile-export-file", path,
				}, flags...)
				cmd := exec.Command(os.Args[0], args...)
				cmd.Env = append(os.Environ(), childEnv+"=1")
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				srv.waitForRequests(t, windowRequests[mode])
				answered, code, says := windowRequests[mode], 3, "requests failed"
				if event == "SIGINT" {
					if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
						t.Fatal(err)
					}
					code, says = 130, "stopping"
				} else if err := server.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait() // its error is the exit code
				if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(stderr.String(), says) {
					t.Fatalf("exit code %d, want %d, and %q: %s", got, code, says, &stderr)
				}
				if event == "SIGINT" {
					answered = 0
					for _, e := range srv.ledger(t) {
						if e.End == sim.EndOK {
							answered++
						}
					}
				}
				run, requests := exporttest.Read(t, path)
				good := checkWindows(t, run, requests, mode)
				if good < answered || event == "SIGINT" && good != answered {
					t.Errorf("%d good requests, the server answered %d", good, answered)
				}
				if failed := len(requests) - good; (failed > 0) != (event != "SIGINT") {
					t.Errorf("%d requests besides", failed)
				}
			})
		}
	}
}

// Requests that fail are rows, whatever the window; the others make the windows.
// perf_analyzer ends with the first that fails, and waits for ever for one that a
// server never answers.
func TestWindowsWithFailures(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "prompts.json")
	if err := os.WriteFile(data, []byte(`{"data":[{"text_input":["Hello"],"stream":[true],"sampling_parameters":["{}"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, service := range []struct {
		name, flags string
		faults      []string
	}{
		{"OpenAI", "--service-kind openai --streaming", []string{"http_500", "truncate", "error_event", "hang"}},
		{"Triton", "-m vllm -i grpc --streaming --input-data " + data, []string{"reset", "stall"}},
	} {
		for mode, flags := range windowModes {
			if mode == "a large count" || testenv.Race && mode == "time windows" {
				continue
			}
			for i, fault := range service.faults {
				if mode == "time windows" && i%testenv.Stride(2) > 0 {
					continue // in windows that count, each fault is tried
				}
				t.Run(service.name+", "+mode+", "+fault, func(t *testing.T) {
					t.Parallel()
					path := filepath.Join(t.TempDir(), "x.json")
					args := append(strings.Fields(service.flags), flags...)
					trials := 3
					if testenv.IsLong() {
						trials = 5
					}
					args[len(args)-1] = strconv.Itoa(trials)
					limit := "1m" // which no request of a busy machine takes
					if fault == "hang" || fault == "stall" {
						limit = "600ms"
					}
					args = append(args, "-u", fmt.Sprintf("sim://?ttft=4ms&itl=1ms&output_tokens=5&fault=%s:every=3", fault), "--request-timeout", limit, "--profile-export-file", path)
					code, _, stderr := inProcess(t.Context(), t, args...)
					why := map[int]string{3: fmt.Sprintf("not stable within %d windows", trials), 0: "the throughput is stable, the latency is not"}[code] // by chance
					if why == "" || !strings.Contains(stderr, why) || !strings.Contains(stderr, "requests failed; pa-analyze report shows why") {
						t.Fatalf("exit code %d: %s", code, stderr)
					}
					run, requests := exporttest.Read(t, path)
					good, failed := checkWindows(t, run, requests, mode), 0
					for i := range requests {
						if requests[i].Excluded() == "failed" {
							failed++
						}
					}
					if failed*3 < good-6 || failed*3 > 2*good+6 || good == 0 {
						t.Errorf("%d good, %d failed; want every third", good, failed)
					}
				})
			}
		}
	}
}
