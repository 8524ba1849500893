package aiperf

import (
	"bytes"
	"context"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/golden"
	"github.com/pa-tools/pa/internal/pyjson"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/foreign"
)

// readCase returns AIPerf's own report of a case, and ours of its records.
func readCase(t *testing.T, name string) (rep *Report, summary pyjson.Value, file func(string) string) {
	t.Helper()
	fsys := golden.FS(t, "peers")
	file = func(n string) string {
		b, err := fs.ReadFile(fsys, path.Join("aiperf", name, n))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	summary, err := pyjson.Parse(file("profile_export_aiperf.json"), pyjson.JSON)
	if err != nil {
		t.Fatal(err)
	}
	cfg := dialect.Config{Args: map[string]string{}}
	for _, key := range []string{"start_time", "end_time", "was_cancelled"} {
		v, _ := summary.Member(key)
		cfg.Args[key] = v.Text()
		if v.Kind() == pyjson.Bool {
			cfg.Args[key] = v.Raw()
		}
	}
	data := []byte(file("profile_export.jsonl"))
	for _, f := range foreign.Formats() {
		if !f.Sniff(data[:min(len(data), 4<<10)]) {
			continue
		}
		r, err := f.Open(t.Context(), "profile_export.jsonl", bytes.NewReader(data), int64(len(data)), export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		rep, err := Analyze(context.Background(), r, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return rep, summary, file
	}
	t.Fatal("no format takes the records")
	return nil, summary, file
}

// The console, to the character.
func TestGoldenConsole(t *testing.T) {
	for _, name := range []string{"ok", "cut", "int"} {
		rep, _, file := readCase(t, name)
		var b bytes.Buffer
		if err := rep.Console(&b, 140); err != nil {
			t.Fatal(err)
		}
		if got, want := b.String(), file("profile_export_console.txt"); got != want {
			g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
			for i := range max(len(g), len(w)) {
				a, b := "", ""
				if i < len(g) {
					a = g[i]
				}
				if i < len(w) {
					b = w[i]
				}
				if a != b {
					t.Errorf("%s:%d\n%q, want\n%q", name, i+1, a, b)
				}
			}
		}
	}
}

// The CSV report, line by line: ours has no parts of HTTP exchanges and nothing
// of how many tokens were asked for.
func TestGoldenCSV(t *testing.T) {
	for _, name := range []string{"ok", "cut", "int"} {
		rep, _, file := readCase(t, name)
		var b bytes.Buffer
		if err := rep.CSV(&b); err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(strings.SplitAfter(file("profile_export_aiperf.csv"), "\n"), func(l string) bool {
			return strings.HasPrefix(l, "HTTP ") || strings.HasPrefix(l, "OSL Mismatch ")
		})
		got := strings.SplitAfter(b.String(), "\n")
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("%s: line %d: %q, want %q", name, i+1, got[min(i, len(got)-1)], want[min(i, len(want)-1)])
			}
		}
	}
}

// The statistics in the JSON report: to the last digit where they are of
// requests; those over the whole phase as good as its times are given, to
// microseconds.
func TestGoldenJSON(t *testing.T) {
	for _, name := range []string{"ok", "cut", "int"} {
		rep, summary, _ := readCase(t, name)
		var b bytes.Buffer
		if err := rep.JSON(&b); err != nil {
			t.Fatal(err)
		}
		got, err := pyjson.Parse(b.String(), pyjson.JSON)
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, c := range columns {
			mine, have := got.Member(c.tag)
			its, want := summary.Member(c.tag)
			if have != want {
				t.Errorf("%s: %s: there is one: %v, want %v", name, c.tag, have, want)
			}
			if !have || !want {
				continue
			}
			if u, _ := its.Member("unit"); u.Text() != c.unit {
				t.Errorf("%s: unit %q, want %q", c.tag, c.unit, u.Text())
			}
			overPhase := strings.HasPrefix(c.tag, "effective_") && c.tag != "effective_latency" || strings.HasPrefix(c.tag, "active_") ||
				c.tag == "tokens_in_flight" || strings.HasSuffix(c.unit, "/sec")
			for _, s := range []string{"avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std", "count", "sum"} {
				m, have := mine.Member(s)
				i, want := its.Member(s)
				if have != want {
					t.Errorf("%s: %s %s: there is one: %v, want %v", name, c.tag, s, have, want)
					continue
				}
				compared++
				x, y := number(t, m), number(t, i)
				if x != y && !(overPhase && math.Abs(x-y) <= 1e-4*math.Abs(y)) {
					t.Errorf("%s: %s %s: %v, want %v", name, c.tag, s, x, y)
				}
			}
		}
		if compared < 500 {
			t.Errorf("%s: only %d figures", name, compared)
		}
	}
}

func number(t *testing.T, v pyjson.Value) float64 {
	t.Helper()
	if v.Kind() == pyjson.None {
		return 0
	}
	f, err := strconv.ParseFloat(v.Raw(), 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
