//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

// A runOfSize returns a run with n of something.
type runOfSize struct {
	name     string
	n        int    // the smaller of two sizes
	commands string // the commands of linearCommands that read it, by their words; "" for all
	make     func(n int) *memrun.Reader
}

// Commands that read the same things of a run.
const (
	reportsRuns    = "report; report json; html; check; "
	readsResponses = "report; report slo; report genai-perf-latest; report aiperf; report vllm; html; requests; trace; validate; convert parquet; convert json; avg-first-token; "
	readsSessions  = "report; report slo; html; requests; trace; validate; convert parquet; "
	readsTelemetry = "report; report json; html; trace; validate; convert parquet; convert json; diff; "
)

// manyRequests returns n streamed requests, one after the other, from number first on.
func manyRequests(first, n int, change func(i int, r *export.Request)) []export.Request {
	requests := make([]export.Request, 0, n)
	for i := first; i < first+n; i++ {
		r := memrun.OpenAI(memrun.Delta("a"), memrun.Delta("b"), memrun.Delta("c"), memrun.Done)
		r.ID, r.HasMeta, r.StartNS = uint64(i+1), true, 1e18+uint64(i)*1e7
		for k := range r.Responses {
			r.Responses[k].RecvNS = r.StartNS + uint64(k+1)*1e6 + uint64(i*(k+1)%7919)
		}
		r.FailedNS = r.StartNS + 9e6
		if change != nil {
			change(i, &r)
		}
		requests = append(requests, r)
	}
	return requests
}

// oneLevel returns a run of one level.
func oneLevel(requests []export.Request) *memrun.Reader {
	r := memrun.New("openai", requests)
	r.Header.Meta = &export.RunMeta{Schema: export.Schema, Tool: "t", Model: "m"}
	return r
}

// shortLevels returns a run of n levels with three requests each.
func shortLevels(n int) *memrun.Reader {
	var levels [][]export.Request
	for i := range n {
		levels = append(levels, manyRequests(3*i, 3, nil))
	}
	return memrun.New("openai", levels...)
}

// growing returns runs with many of each thing that a run can have many of.
func growing() []runOfSize {
	return []runOfSize{
		{"levels", 1000, "", func(n int) *memrun.Reader {
			r := shortLevels(n)
			r.Header.Meta = &export.RunMeta{Schema: export.Schema, Tool: "t", Model: "m"}
			for i := range r.Header.Experiments {
				r.Header.Experiments[i].Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 3}, Warnings: []string{fmt.Sprintf("%d of 3 responses were odd", i%3)}}
			}
			return r
		}},
		{"thousands of levels", 3000, "diff; write; ", shortLevels},
		{"levels of one load", 1000, reportsRuns + "diff; rig; trend; plot sweep; plot pareto; pareto; ", func(n int) *memrun.Reader {
			r := shortLevels(n)
			for i := range r.Header.Experiments {
				r.Header.Experiments[i].Value = "8"
			}
			return r
		}},
		{"requests", 10_000, "", func(n int) *memrun.Reader { return oneLevel(manyRequests(0, n, nil)) }},
		{"excluded requests", 10_000, readsResponses, func(n int) *memrun.Reader {
			return oneLevel(manyRequests(0, n, func(i int, r *export.Request) {
				if i > 10 {
					r.Phase = export.PhaseWarmup
				}
			}))
		}},
		{"failures", 5000, reportsRuns + "report aiperf; report genai-perf-latest; report vllm; requests; diff; convert json; ", func(n int) *memrun.Reader {
			return oneLevel(manyRequests(0, n, func(i int, r *export.Request) {
				if i > 10 {
					r.Status, r.Message = export.StatusHTTPError, fmt.Sprintf("cause %d", i)
				}
			}))
		}},
		{"sessions", 5000, readsSessions, func(n int) *memrun.Reader {
			return oneLevel(manyRequests(0, n, func(i int, r *export.Request) { r.SessionID, r.Turn = fmt.Sprintf("s%d", i/2), i%2 }))
		}},
		{"turns of a session", 5000, readsSessions, func(n int) *memrun.Reader {
			return oneLevel(manyRequests(0, n, func(i int, r *export.Request) { r.SessionID, r.Turn = "s", i }))
		}},
		{"requests at the same time", 5000, readsResponses + "check; diff; report windows; plot timeline; plot heatmap; ", func(n int) *memrun.Reader {
			return oneLevel(manyRequests(0, n, func(i int, r *export.Request) {
				r.StartNS = 1e18 + uint64(i)
				r.FailedNS = 1e18 + 1e12 + uint64(i)
				for k := range r.Responses {
					r.Responses[k].RecvNS = 1e18 + 1e11*uint64(k+1) + uint64(i)
				}
			}))
		}},
		{"models", 2000, reportsRuns + "report csv; diff; trend; convert json; ", func(n int) *memrun.Reader {
			r := oneLevel(manyRequests(0, n, func(i int, r *export.Request) { r.Model = fmt.Sprintf("m%d", i) }))
			for i := range n {
				r.Header.Meta.Models = append(r.Header.Meta.Models, fmt.Sprintf("m%d", i))
			}
			return r
		}},
		{"responses", 25_000, readsResponses + "plot scatter; plot heatmap; ", func(n int) *memrun.Reader {
			one := manyRequests(0, 1, nil)
			x := one[0].Responses[1]
			one[0].Responses = one[0].Responses[:1]
			for i := range n {
				x.RecvNS = one[0].StartNS + 2e6 + uint64(i)*1000
				one[0].Responses = append(one[0].Responses, x)
			}
			return oneLevel(one)
		}},
		{"silent responses", 10_000, readsResponses, func(n int) *memrun.Reader {
			one := memrun.At(1e18)
			one.HasMeta, one.Stated = true, &export.Stated{}
			for i := range n {
				one.Responses = append(one.Responses, export.Response{RecvNS: one.StartNS + uint64(i+1)*1000})
				if i%2 == 1 {
					one.Stated.Silent = append(one.Stated.Silent, i)
				}
			}
			return oneLevel([]export.Request{one})
		}},
		{"window boundaries", 10_000, reportsRuns + "report windows; report perf_analyzer; validate; convert parquet; convert json; ", func(n int) *memrun.Reader {
			r := oneLevel(manyRequests(0, 100, nil))
			for i := range n {
				r.Header.Experiments[0].WindowBoundaries = append(r.Header.Experiments[0].WindowBoundaries, 1e18+uint64(i)*1e5)
			}
			return r
		}},
		{"warnings", 3000, reportsRuns + "diff; trend; convert json; ", func(n int) *memrun.Reader {
			r := oneLevel(manyRequests(0, 100, nil))
			for i := range n {
				r.Header.Meta.Warnings = append(r.Header.Meta.Warnings, fmt.Sprintf("warning %c%c about %d things", 'a'+i%26, 'a'+i/26%26, i))
			}
			return r
		}},
		{"hints", 5000, reportsRuns + "diff; convert json; ", func(n int) *memrun.Reader {
			r := oneLevel(manyRequests(0, 100, nil))
			r.Header.Meta.AnalysisHints = map[string]string{}
			for i := range n {
				r.Header.Meta.AnalysisHints[fmt.Sprintf("hint%d", i)] = "x"
			}
			return r
		}},
		{"pauses", 3000, reportsRuns + "report windows; trace; plot timeline; convert json; ", func(n int) *memrun.Reader {
			r := oneLevel(manyRequests(0, n, nil))
			for i := range n {
				at := 1e18 + uint64(i)*1e7 + 9e6
				r.Header.Meta.Pauses = append(r.Header.Meta.Pauses, export.Pause{StartNS: at, EndNS: at + 1e5, DurationNS: 1e5, Cause: export.PauseStopped})
			}
			return r
		}},
		{"telemetry series", 2000, readsTelemetry, func(n int) *memrun.Reader { return withTelemetry(10, n) }},
		{"scrapes", 2000, readsTelemetry, func(n int) *memrun.Reader { return withTelemetry(n, 10) }},
	}
}

// withTelemetry returns a run with scrapes of a server that has series.
func withTelemetry(scrapes, series int) *memrun.Reader {
	const source = "http://localhost:8000/metrics"
	r := oneLevel(manyRequests(0, 100, nil))
	r.Header.Meta.Telemetry = []export.TelemetrySource{{Source: source, Kind: "prometheus", Scrapes: scrapes, Series: series}}
	all := make([]export.Series, series)
	for i := range all {
		all[i] = export.Series{Source: source, Name: "vllm:num_requests_running", Type: "gauge", Labels: []export.Label{{Name: "engine", Value: fmt.Sprint(i)}}}
	}
	for i := range scrapes {
		at := 1e18 + uint64(i)*1e9/uint64(scrapes)
		s := export.Scrape{Source: source, StartNS: at, EndNS: at + 1000}
		for k := range all {
			s.Samples = append(s.Samples, export.Sample{Series: &all[k], Value: float64((i + k) % 17)})
		}
		r.Telemetry = append(r.Telemetry, s)
	}
	return r
}

// linearCommands lists commands by the words that tell them apart. FILE, OTHER and THIRD are runs,
// and OUT is the beginning of the name of an output.
var linearCommands = []struct {
	name string
	args []string
}{
	{"report", []string{"report", "FILE"}},
	{"report json", []string{"report", "--format", "json", "FILE"}},
	{"report csv", []string{"report", "--format", "csv", "FILE"}},
	{"report slo", []string{"report", "--windows", "1s", "--slo", "ttft<=200ms", "FILE"}},
	{"report windows", []string{"report", "--windows", "recorded", "FILE"}},
	{"report experiment", []string{"report", "--experiment", "concurrency:1", "FILE"}},
	{"report genai-perf-latest", []string{"report", "--dialect", "genai-perf-latest", "FILE"}},
	{"report aiperf", []string{"report", "--dialect", "aiperf", "FILE"}},
	{"report perf_analyzer", []string{"report", "--dialect", "perf_analyzer", "FILE"}},
	{"report vllm", []string{"report", "--dialect", "vllm", "FILE"}},
	{"html", []string{"html", "FILE", "-o", "OUT.html", "--overwrite"}},
	{"html of two", []string{"html", "FILE", "OTHER", "-o", "OUT.html", "--overwrite"}},
	{"diff", []string{"diff", "FILE", "OTHER", "--single-run"}},
	{"diff json", []string{"diff", "FILE", "OTHER", "--single-run", "--format", "json"}},
	{"rig", []string{"rig", "FILE", "OTHER", "THIRD"}},
	{"trend", []string{"trend", "FILE", "OTHER", "THIRD"}},
	{"check", []string{"check", "FILE"}},
	{"pareto", []string{"pareto", "FILE"}},
	{"definitions", []string{"definitions", "FILE"}},
	{"plot cdf", []string{"plot", "cdf", "FILE", "-o", "OUT.svg", "--overwrite"}},
	{"plot timeline", []string{"plot", "timeline", "FILE", "-o", "OUT.svg", "--overwrite"}},
	{"plot scatter", []string{"plot", "scatter", "FILE", "-o", "OUT.svg", "--overwrite"}},
	{"plot heatmap", []string{"plot", "heatmap", "FILE", "-o", "OUT.svg", "--overwrite"}},
	{"plot sweep", []string{"plot", "sweep", "FILE", "-o", "OUT.svg", "--overwrite"}},
	{"plot pareto", []string{"plot", "pareto", "FILE", "-o", "OUT.svg", "--overwrite"}},
	{"requests", []string{"requests", "FILE"}},
	{"validate", []string{"validate", "FILE"}},
	{"convert parquet", []string{"convert", "FILE", "OUT.parquet", "--overwrite"}},
	{"convert arrow", []string{"convert", "FILE", "OUT.arrow", "--overwrite"}},
	{"convert json", []string{"convert", "FILE", "OUT.json", "--overwrite"}},
	{"trace", []string{"trace", "FILE", "-o", "OUT.trace.json", "--overwrite"}},
	{"write", []string{"write", "--to", "influx", "--time", "2026-01-31T12:00:00Z", "FILE"}},
	{"avg-first-token", []string{"avg-first-token", "FILE"}},
}

// No command begins again for each level, request, session, model, series or other member of a run: twice as
// many take at most 2.5 times as much processor time.
func TestLinear(t *testing.T) {
	if os.Getenv("PA_TEST_LINEAR") == "" {
		t.Skip("left to make test-linear, because it measures processor time")
	}
	const (
		most  = 2.5
		noise = 50 * time.Millisecond // a command that is as quick on the larger file passes
		tries = 4
	)
	for _, kind := range growing() {
		t.Run(strings.ReplaceAll(kind.name, " ", "_"), func(t *testing.T) {
			dir := t.TempDir()
			var files [2]*strings.Replacer // by size
			for k := range files {
				names := []string{"OUT", filepath.Join(dir, "out")}
				for j, name := range []string{"FILE", "OTHER", "THIRD"} {
					r := kind.make(kind.n << k)
					for i := range r.Requests {
						for q := range r.Requests[i] {
							shift(&r.Requests[i][q], uint64(j)*1e15)
						}
					}
					path := filepath.Join(dir, fmt.Sprintf("%s.%d.json", name, k))
					exporttest.Write(t, path, r)
					names = append(names, name, path)
				}
				files[k] = strings.NewReplacer(names...)
			}
			for _, command := range linearCommands {
				if kind.commands != "" && !strings.Contains("; "+kind.commands, "; "+command.name+"; ") {
					continue
				}
				best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
				for try := range tries {
					for k := range best {
						best[k] = min(best[k], cpuOf(t, command.args, files[k]))
					}
					if float64(best[1]) <= most*float64(best[0])+float64(noise) {
						break
					}
					if try == tries-1 {
						t.Errorf("%s: %d take %v, %d take %v", command.name, kind.n, best[0], 2*kind.n, best[1])
					}
				}
				t.Logf("%-30s %8d: %8v, %8d: %8v", command.name, kind.n, best[0].Round(time.Millisecond), 2*kind.n, best[1].Round(time.Millisecond))
			}
		})
	}
}

// cpuOf runs pa-analyze as a process and returns its processor time. files replaces the names of
// files in args.
func cpuOf(t *testing.T, args []string, files *strings.Replacer) time.Duration {
	t.Helper()
	var all []string
	for _, arg := range args {
		all = append(all, files.Replace(arg))
	}
	cmd := osexec.CommandContext(t.Context(), "pa-analyze", all...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if exit := new(osexec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() == 2) {
		t.Fatalf("%v: %v: %s", args, err, stderr.String())
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// shift moves all times of a request.
func shift(r *export.Request, ns uint64) {
	r.StartNS += ns
	if r.FailedNS > 0 {
		r.FailedNS += ns
	}
	for i := range r.Responses {
		r.Responses[i].RecvNS += ns
	}
}
