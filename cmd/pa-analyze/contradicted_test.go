package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// rescale makes a request look twice as fast in its derived values.
func rescale(d *export.Derived) {
	d.TTFT.V, d.E2EL.V = d.TTFT.V/2, d.E2EL.V/2
	var itl [][]int64
	for _, gaps := range d.ITL {
		gaps = slices.Clone(gaps)
		for i := range gaps {
			gaps[i] /= 2
		}
		itl = append(itl, gaps)
	}
	d.ITL = itl
	if d.Responses != nil {
		d.Responses.First, d.Responses.Last = d.Responses.First/2, d.Responses.Last/2
	}
}

// writeEdited writes the run of spec to dir in a columnar format, with derived values that edit
// changed.
func writeEdited(t *testing.T, dir, format string, spec memrun.Spec, edit func(r *export.Request, d *export.Derived)) string {
	t.Helper()
	path := filepath.Join(dir, spec.Name+"."+format)
	exporttest.WriteEdited(t, path, spec.Reader(), edit)
	return path
}

// asDerived changes nothing.
func asDerived(*export.Request, *export.Derived) {}

// contradictingEdits change derived values of runs of [contradictionSpec]. sampled says whether a
// sample of the requests must show the edit; a gate must see every edit.
var contradictingEdits = map[string]struct {
	edit    func(r *export.Request, d *export.Derived)
	sampled bool
}{
	"all rescaled": {func(_ *export.Request, d *export.Derived) { rescale(d) }, true},
	"one request": {func(r *export.Request, d *export.Derived) {
		if r.ID == 7 {
			d.TTFT.V /= 2
		}
	}, false},
	"most requests": {func(r *export.Request, d *export.Derived) {
		if r.ID > 0 { // the sample has more than the first
			rescale(d)
		}
	}, true},
	"counts": {func(_ *export.Request, d *export.Derived) {
		d.OutputTokens.V, d.TokenSource = 400, "usage"
	}, true},
	"input tokens":       {func(_ *export.Request, d *export.Derived) { d.InputTokens = export.IntOf(3) }, true},
	"events":             {func(_ *export.Request, d *export.Derived) { d.Events = d.Events[:1] }, true},
	"failures":           {func(_ *export.Request, d *export.Derived) { d.Failure = "overloaded" }, true},
	"damaged":            {func(_ *export.Request, d *export.Derived) { d.ITLEvents.V = 17 }, true},
	"one damaged":        {func(r *export.Request, d *export.Derived) { d.ITLEvents.V += int64(r.ID) / 9 }, true},
	"stamps":             {func(_ *export.Request, d *export.Derived) { d.Responses.Kernel, d.Responses.User = 0, 4 }, true},
	"first token":        {func(_ *export.Request, d *export.Derived) { d.TTFT = export.IntOf(-1) }, true},
	"without a TTFT":     {func(_ *export.Request, d *export.Derived) { d.TTFT = export.Int{} }, true},
	"not streamed":       {func(_ *export.Request, d *export.Derived) { no := false; d.Streamed = &no }, true},
	"first answer token": {func(_ *export.Request, d *export.Derived) { d.TTFAT = export.IntOf(5) }, true},
}

func contradictionSpec(i int, ttft float64) memrun.Spec {
	return memrun.Spec{Name: "run" + strconv.Itoa(i), Second: uint64(1000 * i), TTFT: ttft + float64(i)/100, ITL: 5}
}

// A contradictionCase is a command over the edited files, or over the same files as they were.
type contradictionCase struct {
	gate bool // an exit code or an acceptance depends on the figures
	long bool // not for each edit
	code int
	args func(files []string) []string
}

// contradictionCases returns the commands by name. old are files of a faster server, and baseline is
// a folder with the accepted runs of that server.
func contradictionCases(old []string, baseline string) map[string]contradictionCase {
	sides := func(f []string) []string {
		return []string{"old=" + strings.Join(old, ","), "new=" + strings.Join(f, ",")}
	}
	with := func(args ...string) func([]string) []string {
		return func(f []string) []string { return append(slices.Clone(args), f[0]) }
	}
	return map[string]contradictionCase{
		"report":        {false, false, 0, with("report", "--format", "csv")},
		"report window": {false, true, 0, with("report", "--windows", "100ms")},
		"report gate":   {true, false, 3, with("report", "--slo", "ttft<=30ms", "--slo-gate")},
		"html gate": {true, true, 3, func(f []string) []string {
			return []string{"html", "--slo", "ttft<=30ms", "--slo-gate", "--overwrite", "-o", filepath.Join(filepath.Dir(f[0]), "page.html"), f[0]}
		}},
		"diff":        {false, true, 0, func(f []string) []string { return append([]string{"diff"}, sides(f)...) }},
		"diff gate":   {true, true, 3, func(f []string) []string { return append([]string{"diff", "--fail-on", "ttft_p50 worse"}, sides(f)...) }},
		"diff single": {true, true, 3, with("diff", "--single-run", "--fail-on", "ttft_p50>+5%", old[0])},
		"diff junit":  {true, true, 0, func(f []string) []string { return append([]string{"diff", "--format", "junit"}, sides(f)...) }},
		"check":       {true, false, 3, with("check", "--gate")},
		"trend":       {false, true, 0, func(f []string) []string { return append([]string{"trend"}, f...) }},
		"trend gate":  {true, true, 3, with("trend", "--baseline", baseline)},
	}
}

// No edit of derived columns changes a figure or an exit code, and a warning names it.
func TestContradictedColumns(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"parquet", "arrow"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			testContradictions(t, format)
		})
	}
}

func testContradictions(t *testing.T, format string) {
	honest := t.TempDir()
	var old, files []string // of the fast server, and of the slow one
	for i := range 3 {
		old = append(old, writeEdited(t, t.TempDir(), format, contradictionSpec(i, 20), asDerived))
		files = append(files, writeEdited(t, honest, format, contradictionSpec(10+i, 40), asDerived))
	}
	baseline := filepath.Join(t.TempDir(), "baseline")
	for _, f := range old {
		if r := exec(t, "", "trend", "--baseline", baseline, "--accept", "--inconclusive", "pass", f); r.code != 0 {
			t.Fatalf("accept: %+v", r)
		}
	}
	cases := contradictionCases(old, baseline)
	want := map[string]result{}
	for name, c := range cases {
		want[name] = exec(t, "", c.args(files)...)
		if r := want[name]; r.code != c.code || strings.Contains(r.stderr, "contradict") {
			t.Errorf("%s of the honest files: %+v", name, r)
		}
	}
	for edit, x := range contradictingEdits {
		dir := t.TempDir()
		var edited []string
		for i := range files {
			edited = append(edited, writeEdited(t, dir, format, contradictionSpec(10+i, 40), x.edit))
		}
		for name, c := range cases {
			// Without a gate, only a sample of the requests is checked.
			if !c.gate && !x.sampled || c.long && edit != "all rescaled" && edit != "one request" {
				continue
			}
			got := exec(t, "", c.args(edited)...)
			got.stdout = strings.ReplaceAll(strings.ReplaceAll(got.stdout, dir, honest), "\n1 warning on standard error\n", "")
			if w := want[name]; got.code != w.code || got.stdout != w.stdout {
				t.Errorf("%s, %s: exit code %d instead of %d\n%s\nof the honest file:\n%s\n%s", edit, name, got.code, w.code, got.stdout, w.stdout, got.stderr)
			}
			if !strings.Contains(got.stderr, "warning: ") || !strings.Contains(got.stderr, " contradict the recorded answers: ") || strings.Contains(got.stderr, "disk") {
				t.Errorf("%s, %s: %s", edit, name, got.stderr)
			}
		}
		if edit != "all rescaled" {
			continue
		}
		for _, args := range [][]string{{"report", "--format", "json"}, {"report", "--format", "markdown"}, {"html"}} {
			if r := exec(t, "", append(args, edited[0])...); r.code != 0 || !strings.Contains(r.stdout, "the derived columns contradict the recorded answers: ") {
				t.Errorf("%v: %d\n%.3000s", args, r.code, r.stdout)
			}
		}
	}
}

// Received times that cannot be true contradict derived columns that are.
func TestContradictedTimes(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"parquet", "arrow"} {
		for _, recv := range []uint64{1<<64 - 1, 1<<63 - 1} {
			honest := map[uint64]*export.Request{}
			src := contradictionSpec(0, 20).Reader()
			for i := range src.Requests[0] {
				q := &src.Requests[0][i]
				honest[q.ID] = q.Clone()
				for k := range q.Responses {
					q.Responses[k].RecvNS = recv
				}
			}
			path := filepath.Join(t.TempDir(), "run."+format)
			exporttest.WriteEdited(t, path, src, func(r *export.Request, d *export.Derived) {
				*d = *answer.NewDeriver(&src.Header).Derive(honest[r.ID])
			})
			for _, args := range [][]string{{"report"}, {"check"}, {"html"}, {"report", "--slo", "ttft<=30ms", "--slo-gate"}} {
				if r := exec(t, "", append(args, path)...); !strings.Contains(r.stderr, "contradict the recorded answers: request 0 ") || strings.Contains(r.stdout, "20.00") {
					t.Errorf("%s, recv_ns %d, %v: %d\n%.1000s\n%s", format, recv, args, r.code, r.stdout, r.stderr)
				}
			}
		}
	}
}

// Stated numbers of requests, and figures of the client about itself, are held to the requests and to each other.
func TestContradictedHeader(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		edit func(m *export.ExperimentMeta)
		want string // in the warning; "" for none
	}{
		"nothing":         {func(*export.ExperimentMeta) {}, ""},
		"measured":        {func(m *export.ExperimentMeta) { m.Measured = 1000 }, "the header counts 1,000 measured requests, and the file holds 10;"},
		"failed":          {func(m *export.ExperimentMeta) { m.Failed = 3 }, "the header counts 3 failed requests, and the file holds 0;"},
		"dropped outputs": {func(m *export.ExperimentMeta) { m.OutputsDropped = 2 }, "counts 2 requests with dropped outputs, and the file holds 0;"},
		"CPU time":        {func(m *export.ExperimentMeta) { m.Client.CPU.UserNS = 90e9 }, "the client states 1m31s of CPU time in 10 s on 2 cores, which cannot be;"},
		"CPU share":       {func(m *export.ExperimentMeta) { m.Client.CPU.Share = 0.01 }, "it took 1.0 % of its CPU time, and 2 s in 10 s on 2 cores are 10.0 %;"},
	} {
		src := contradictionSpec(0, 20).Reader()
		m := src.Header.Experiments[0].Meta
		m.Measured = 10
		m.Client = &export.ClientMeta{
			DurationNS: 10e9, CPU: &export.CPUMeta{UserNS: 1e9, SystemNS: 1e9, Cores: 2, Share: 0.1},
		}
		x.edit(m)
		path := filepath.Join(t.TempDir(), "run.json")
		exporttest.Write(t, path, src)
		for _, command := range []string{"report", "check", "html"} {
			r := exec(t, "", command, path)
			if found := strings.Contains(r.stderr, "after it was written"); r.code != 0 || found != (x.want != "") || !strings.Contains(r.stderr, x.want) {
				t.Errorf("%s, %s: %d\n%s", name, command, r.code, r.stderr)
			}
		}
	}
}
