package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/export"
)

// A list of figures is broken between figures, and within one only if a line cannot hold it.
func TestProseOfFigures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		width       int
		first, text string
		want        string
	}{
		{41, "  ", "10.42 requests/s · 166.7 output tok/s · 310.0 total tok/s", "  10.42 requests/s · 166.7 output tok/s ·\n  310.0 total tok/s\n"},
		{40, "  ", "10.42 requests/s · 166.7 output tok/s · 310.0 total tok/s", "  10.42 requests/s ·\n  166.7 output tok/s · 310.0 total tok/s\n"},
		{24, "", "1 a · a figure of many words of its own · 2 b", "1 a · a figure of many\nwords of its own · 2 b\n"},
		{24, "", "words of a sentence are words", "words of a sentence are\nwords\n"},
		{24, "", "all of it took 123456.7 ms, or more", "all of it took\n123456.7 ms, or more\n"},
		{24, "", "3 ·", "3 ·\n"},
	} {
		var b strings.Builder
		table := &table{b: &b, o: Options{Width: tt.width}}
		table.prose(tt.first, tt.text)
		if d := cmp.Diff(tt.want, b.String()); d != "" {
			t.Errorf("%d columns, %q (-want +got):\n%s", tt.width, tt.text, d)
		}
	}
}

// One short line of a client that kept up; all figures of one that did not, or that is asked for.
func TestClientLine(t *testing.T) {
	t.Parallel()
	cpu := func(share float64) *export.ClientMeta {
		return &export.ClientMeta{CPU: &export.CPUMeta{Share: share, Cores: 2}, MaxRSSBytes: 37 << 20}
	}
	with := func(change func(*export.ClientMeta)) *export.ClientMeta {
		m := cpu(0.03)
		change(m)
		return m
	}
	late := export.SaturationWarning + "it used 97% of the time of its 2 cores"
	for _, tt := range []struct {
		name    string
		m       *export.ClientMeta
		warning string
		full    bool
		want    string
	}{
		{"well", cpu(0.0254), "", false, "client ok (3% CPU, 37 MB)"},
		{"idle", cpu(0.001), "", false, "client ok (under 1% CPU, 37 MB)"},
		{"asked for", cpu(0.0254), "", true, "client (pa-record): 2.540% of 2 CPU cores · 37 MB of memory"},
		{"warned of", cpu(0.97), late, false, "client (pa-record): 97.00% of 2 CPU cores · 37 MB of memory"},
		{
			"other programs", &export.ClientMeta{DurationNS: 2e9, CPU: &export.CPUMeta{UserNS: 1e8, Share: 0.025, Cores: 2, WaitNS: 4.8e8, Waits: 1000}, Reads: &export.ReadMeta{Responses: 2000, Merged: 600}}, "600 of 2,000 tokens arrived together with the previous one; " + export.TogetherCrowded, false,
			"client (pa-record): 2.500% of 2 CPU cores · 30.00% of the responses arrived with the previous one: other programs kept the cores busy, and pa-record waited for a core 4.8 times as long as it ran, 480 µs at a time",
		},
		{"rate kept", with(func(m *export.ClientMeta) { m.OfferedPerSecond, m.AchievedPerSecond = 10, 9.9 }), "", false, "client ok (3% CPU, 37 MB)"},
		{"rate missed", with(func(m *export.ClientMeta) { m.OfferedPerSecond, m.AchievedPerSecond = 10, 9 }), "", false, "client (pa-record): 3.000% of 2 CPU cores · 37 MB of memory · sent 9.000 of the 10.00 requests/s asked for"},
		{"held back", with(func(m *export.ClientMeta) { m.HeldBack = 2 }), "", false, "client (pa-record): 3.000% of 2 CPU cores · 37 MB of memory · 2 requests held back"},
		{"CPU not known", &export.ClientMeta{MaxRSSBytes: 37 << 20}, "", false, "client (pa-record): 37 MB of memory"},
		{"nothing known", &export.ClientMeta{}, "", false, ""},
		{"another tool", nil, "", false, ""},
	} {
		e := &analyze.Experiment{Client: tt.m}
		if tt.warning != "" {
			e.Warnings = []error{errors.New("other"), analyze.RecorderWarning(tt.warning)}
		}
		if got := clientLine(e, timeScales[2], tt.full); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Microseconds beside seconds have units of their own; times that are near each other share one.
func TestServerUnits(t *testing.T) {
	t.Parallel()
	figures := func(ns ...float64) *analyze.Experiment {
		e := &analyze.Experiment{}
		for _, v := range ns {
			e.Server = append(e.Server, serverfigures.Figure{Name: "a", Of: "m", Kind: serverfigures.Time, Unit: "ns", N: 1, Mean: v})
		}
		return e
	}
	for _, tt := range []struct {
		e    *analyze.Experiment
		want []string
	}{
		{figures(4700, 62900, 6e9), []string{"4.700 µs", "62.90 µs", "6.000 s"}},
		{figures(9700, 6e9), []string{"9.700 µs", "6.000 s"}},
		{figures(62900, 6e6), []string{"0.0629 ms", "6.000 ms"}},
	} {
		u := timeUnitsOf([]Input{{Report: &analyze.Report{Run: &export.Run{}, Experiments: []analyze.Experiment{*tt.e}}}})
		var got []string
		for _, row := range servers(tt.e, u.server).Rows[1:] {
			got = append(got, row[3])
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

func TestSelectedDigits(t *testing.T) {
	t.Parallel()
	ms := func(n float64) uint64 { return uint64(n * float64(time.Millisecond)) }
	for want, s := range map[string]*analyze.Selected{
		"trimmed: 50.88 ms to 508.8 ms of 508.8 ms": {How: "trim", Span: figure.Span{FromNS: ms(50.881791), ToNS: ms(508.817916)}, Level: figure.Span{ToNS: ms(508.817916)}},
		"window: 10 s to 30.5 s of 60 s":            {How: "window", Span: figure.Span{FromNS: ms(1010e1), ToNS: ms(30600)}, Level: figure.Span{FromNS: ms(100), ToNS: ms(60100)}},
	} {
		if got := Selected(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
