package pa_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/pkg/pa"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// TestMain records in the process that TestKilled starts and kills.
func TestMain(m *testing.M) {
	if url := os.Getenv(killedURL); url != "" {
		_, err := pa.Record(context.Background(), pa.Load{URL: url, Streaming: true, Concurrency: 4, For: time.Minute}, os.Args[1])
		fmt.Println(err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func Example() {
	if err := record(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// concurrency 2: 8 requests, 0 failed, TTFT of 8, ITL of 16
}

func record(ctx context.Context) error {
	server, err := sim.Start(ctx, sim.Config{OutputTokens: plan.ConstantLength(3)}) // in place of a real one
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	dir, err := os.MkdirTemp("", "pa")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "run.json")

	if _, err := pa.Record(ctx, pa.Load{URL: server.OpenAIURL(), Streaming: true, Concurrency: 2, Requests: 8}, file); err != nil {
		return err
	}
	rep, err := pa.Analyze(ctx, file)
	if err != nil {
		return err
	}
	for _, l := range rep.Levels {
		fmt.Printf("%s: %d requests, %d failed, TTFT of %d, ITL of %d\n", l.Load, l.Requests, l.Failed, l.TTFT.N, l.ITL.N)
	}
	return nil
}

// serve starts a simulated server.
func serve(t *testing.T, c sim.Config) string {
	t.Helper()
	s, err := sim.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.OpenAIURL()
}

func TestRecord(t *testing.T) {
	t.Parallel()
	dir, fast := t.TempDir(), plan.ConstantDelay(100*time.Microsecond)
	url := serve(t, sim.Config{
		OutputTokens: plan.ConstantLength(9), APIKey: "hunter2", TTFT: fast, ITL: fast,
	})
	for _, tt := range []struct {
		name string
		load pa.Load
		file string
		want string
	}{
		{
			"levels, not streamed",
			pa.Load{Levels: []load.Level{load.Concurrency{N: 1}, load.Rate{PerSecond: 200}}, Requests: 3},
			"a.parquet",
			"concurrency 1: 3 of 3, TTFT n/a (not streamed); request rate 200.0: 3 of 3, TTFT n/a (not streamed)",
		},
		{"time", pa.Load{Streaming: true, For: 20 * time.Millisecond, Warmup: 1}, "b.json.gz", "concurrency 1: some"},
		{"short answers", pa.Load{Streaming: true, Requests: 2, MaxTokens: 4}, "c.arrow", "concurrency 1: 2 of 2, 3 gaps a request"},
		{"short responses", pa.Load{Streaming: true, Requests: 2, MaxTokens: 4, Endpoint: "v1/responses"}, "d.json", "concurrency 1: 2 of 2, 3 gaps a request"},
	} {
		tt.load.URL, tt.load.APIKey = url, "hunter2"
		file := filepath.Join(dir, tt.file)
		if _, err := pa.Record(t.Context(), tt.load, file); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		rep, err := pa.Analyze(t.Context(), file)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var parts []string
		for _, l := range rep.Levels {
			switch all := l.Requests + l.Failed; {
			case tt.load.For > 0 && l.Requests > 0 && l.TTFT.P50 > 0 && l.TTFT.P50 <= l.E2EL.Max && l.OutputTokensPerSecond.OK:
				parts = append(parts, l.Load+": some")
			case l.TTFT.N == 0:
				parts = append(parts, fmt.Sprintf("%s: %d of %d, TTFT %v", l.Load, l.Requests, all, l.TTFT))
			default:
				parts = append(parts, fmt.Sprintf("%s: %d of %d, %d gaps a request", l.Load, l.Requests, all, l.ITL.N/l.Requests))
			}
		}
		if got := strings.Join(parts, "; "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "hunter2") {
			t.Errorf("%s: %v, or the key is in the file", tt.name, err)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 4 {
		t.Errorf("%v, %v: want the four files and no journal", names, err)
	}
}

// A run whose context ends keeps what was measured.
func TestRecordStopped(t *testing.T) {
	t.Parallel()
	fast := plan.ConstantDelay(100 * time.Microsecond)
	url, file := serve(t, sim.Config{TTFT: fast, ITL: fast, OutputTokens: plan.ConstantLength(2)}), filepath.Join(t.TempDir(), "run.json")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	res, err := pa.Record(ctx, pa.Load{URL: url, For: time.Hour}, file)
	if err != nil || !res.Interrupted {
		t.Fatalf("%+v, %v: want an interrupted run", res, err)
	}
	if rep, err := pa.Analyze(t.Context(), file); err != nil || rep.Levels[0].Requests == 0 {
		t.Errorf("%+v, %v: want the requests before the end", rep, err)
	}
}

func TestRecordErrors(t *testing.T) {
	t.Parallel()
	url, file := serve(t, sim.Config{}), filepath.Join(t.TempDir(), "run.json")
	for _, tt := range []struct {
		load pa.Load
		file string
		want string
	}{
		{pa.Load{URL: url, Requests: 1, Concurrency: -1}, file, "concurrency -1: must not be negative"},
		{pa.Load{URL: url}, file, "a Load needs Requests or For"},
		{pa.Load{URL: url, Requests: 1, MaxTokens: -1}, file, "max tokens -1: must not be negative"},
		{pa.Load{URL: url, Requests: 1, Concurrency: 1, Levels: load.Closed(1)}, file, "Concurrency or Levels, not both"},
		{pa.Load{URL: url, Requests: 1, Model: "other"}, file + ".other.json", "the first request failed"},
		{pa.Load{URL: "ftp://x", Requests: 1}, file, "ftp"},
		{pa.Load{URL: url, Requests: 1}, filepath.Join(file, "no", "run.json"), "no"},
	} {
		_, err := pa.Record(t.Context(), tt.load, tt.file)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.file) {
			t.Errorf("%+v: %v, want %s and the name of the file", tt.load, err, tt.want)
		}
	}
	if _, err := pa.Record(t.Context(), pa.Load{URL: url, Requests: 1}, file); err != nil {
		t.Fatal(err)
	}
	if _, err := pa.Record(t.Context(), pa.Load{URL: url, Requests: 1}, file); err == nil || err.Error() != "record "+file+": the file exists" {
		t.Errorf("an existing file: %v", err)
	}
	if _, err := pa.Analyze(t.Context(), file+".none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
}
