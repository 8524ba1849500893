package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/export"
)

// Each kind of figure has its columns, and columns that none has are not there.
func TestServers(t *testing.T) {
	e := &analyze.Experiment{Level: figure.Level{Server: []serverfigures.Figure{
		{Name: "request", Of: "m http://h/metrics", Kind: serverfigures.Time, Unit: "ns", N: 4, Mean: 2e9, Client: 2.5e9, Compared: true},
		{Name: "request", Of: "llm version 1", Kind: serverfigures.Time, Unit: "ns", N: 4, Mean: 2e6, Client: 2.5e9, Compared: true, Incomparable: "why"},
		{Name: "queue", Of: "m http://h/metrics", Kind: serverfigures.Time, Unit: "ns", N: 4, Mean: 1e6},
		{Name: "GPU energy", Of: "GPU-a h", Kind: serverfigures.Counter, Unit: "J", N: 9, Total: 1234.5},
		{Name: "GPU utilization", Of: "GPU-a h", Kind: serverfigures.Gauge, Unit: "ratio", N: 9, Mean: 0.5, Min: 0.25, Max: 1},
	}}}
	var b strings.Builder
	shown := func() {
		t.Helper()
		u := timeUnitsOf([]Input{{Report: &analyze.Report{Run: &export.Run{}, Experiments: []analyze.Experiment{*e}}}})
		g := servers(e, u.server)
		b.WriteString(g.Text("  ", 0))
	}
	shown()
	const want = `  server metric    of                  n       mean     max   total  seen by client  network + client
  request          m http://h/metrics  4  2.000 s                           2.500 s          0.5000 s
  request          llm version 1       4  0.00200 s                         2.500 s         n/a (why)
  queue            m http://h/metrics  4  0.00100 s
  GPU energy       GPU-a h             9                     1234 J
  GPU utilization  GPU-a h             9     50.00%  100.0%
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	if d := cmp.Diff(`{"name":"request","metric":"","kind":"time","of":"llm version 1","unit":"ns","n":4,"mean":2000000,"client_mean":2500000000,"client_minus_server_na":"why"}`, jsonServer(t, &e.Server[1])); d != "" {
		t.Errorf("JSON (-want +got):\n%s", d)
	}
	e.Server = e.Server[2:3]
	b.Reset()
	shown()
	if d := cmp.Diff("  server metric  of                  n      mean\n  queue          m http://h/metrics  4  1.000 ms\n", b.String()); d != "" {
		t.Errorf("text of one time (-want +got):\n%s", d)
	}
}

// A figure that cannot be says why, and a figure of thousands says how many are not
// shown; JSON has all.
func TestServersBound(t *testing.T) {
	e := &analyze.Experiment{Level: figure.Level{Server: []serverfigures.Figure{
		{Name: "GPU utilization", Of: "GPU-a h", Kind: serverfigures.Gauge, Unit: "ratio", NA: "g is as low as -5"},
		{Name: "requests", Of: strings.Repeat("x", 5000), Kind: serverfigures.Counter, Unit: "count", N: 2, Total: 7},
	}}}
	for range 2000 {
		e.Server = append(e.Server, serverfigures.Figure{Name: "KV cache usage", Of: "s", Kind: serverfigures.Gauge, Unit: "ratio", N: 1, Mean: 0.5, Max: 0.5})
	}
	g := servers(e, timeScales[2])
	lines := strings.Split(strings.TrimSuffix(g.Text("  ", 0), "\n"), "\n")
	if want := 1 + 2 + maxFigures + 1; len(lines) != want {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	for i, want := range map[int]string{
		1: "GPU utilization  GPU-a h", 2: strings.Repeat("x", maxOf-1) + "…", len(lines) - 1: "KV cache usage   1936 more, which are left out here",
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q in it", i, lines[i], want)
		}
	}
	if !strings.Contains(lines[1], "n/a") || strings.Contains(lines[1], "%") {
		t.Errorf("%q", lines[1])
	}
	if d := cmp.Diff([]string{"GPU utilization: n/a (g is as low as -5)"}, serverNotes(e)); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
	if d := cmp.Diff(`{"name":"GPU utilization","metric":"","kind":"gauge","of":"GPU-a h","unit":"ratio","n":0,"na":"g is as low as -5"}`, jsonServer(t, &e.Server[0])); d != "" {
		t.Errorf("JSON (-want +got):\n%s", d)
	}
	if l := csvServers(e.Server)[0]; l.n+l.mean+l.min+l.max != "" {
		t.Errorf("CSV %+v", l)
	}
}

// jsonServer returns a figure in JSON.
func jsonServer(t *testing.T, f *serverfigures.Figure) string {
	t.Helper()
	text, err := json.Marshal(jsonLayout{}.server(f))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
