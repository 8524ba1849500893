package stated

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/analyze/sheet"

	"github.com/pa-tools/pa/pkg/analyze/levelpair"
)

// result returns a result of a tool with one level of figures, each "METRIC STATISTIC TEXT".
func result(tool, mode, value string, figures ...string) *Result {
	l := Level{Mode: mode, Value: value}
	for _, text := range figures {
		f := strings.Fields(text)
		v := math.NaN()
		switch f[2] {
		case "100":
			v = 100
		case "150.50":
			v = 150.5
		case "0":
			v = 0
		}
		l.Figures = append(l.Figures, NewFigure(f[0], strings.Trim(f[1], "-"), "ms", f[2], v))
	}
	return &Result{File: tool + value + ".json", Definitions: tool, Levels: []Level{l}}
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name       string
		older, new *Result
		want       []string // of the text; with "!" in front, must not be there
		err        string
		pair       levelpair.By
	}{
		{
			name:  "a change without a verdict, digits as in the files",
			older: result("vllm", "concurrency", "4", "ttft p99 100", "gone - 100"), new: result("vllm", "concurrency", "4", "ttft p99 150.50", "itl - 100", "itl mean 100"),
			want: []string{NoInterval, "ttft p99 (ms)", "150.50", "+50.50%", "1 figure of concurrency 4 only in vllm4.json", "2 figures of concurrency 4 only in vllm4.json", "!better", "!worse"},
		},
		{
			name:  "a value that is missing, and one from nothing, have no change",
			older: result("vllm", "", "", "ttft p99 null", "failed - 0"), new: result("vllm", "", "", "ttft p99 100", "failed - 100"),
			want: []string{"n/a", "!%", "failed"},
		},
		{
			name:  "other loads of one level are compared and named",
			older: result("vllm", "concurrency", "4", "ttft p99 100"), new: result("vllm", "request_rate", "2", "ttft p99 100"),
			want: []string{"the loads differ: concurrency 4 in vllm4.json, request rate 2 in vllm2.json", "+0.00%"},
		},
		{
			name:  "definitions of two tools are never set side by side",
			older: result("vllm", "", "", "ttft p99 100"), new: result("AIPerf", "", "", "ttft p99 100"),
			err: "vllm.json states figures by the definitions of vllm, AIPerf.json by the definitions of AIPerf",
		},
		{
			name:  "several levels are paired by their loads",
			older: &Result{File: "a", Definitions: "t", Levels: []Level{{Mode: "concurrency", Value: "1"}, {Mode: "concurrency", Value: "2"}}},
			new:   &Result{File: "b", Definitions: "t", Levels: []Level{{Mode: "concurrency", Value: "2"}, {Mode: "concurrency", Value: "8"}}},
			want:  []string{"concurrency 2", "concurrency 1 is only in a", "concurrency 8 is only in b"},
		},
		{
			name:  "loads are compared as numbers",
			older: &Result{File: "a", Definitions: "t", Levels: []Level{{Mode: "request_rate", Value: "2"}, {Mode: "request_rate", Value: "10.0"}}},
			new:   &Result{File: "b", Definitions: "t", Levels: []Level{{Mode: "request_rate", Value: "10"}, {Mode: "request_rate", Value: "2.5"}}},
			want:  []string{"request rate 10.0", "!the loads differ", "request rate 2 is only in a", "request rate 2.5 is only in b"},
		},
		{
			name:  "no level in common",
			older: &Result{File: "a", Definitions: "t", Levels: []Level{{}, {}}},
			new:   &Result{File: "b", Definitions: "t", Levels: []Level{{Mode: "concurrency", Value: "2"}}},
			err:   "a and b have no load level in common: level 1 (load not stated) is only in a",
		},
		{
			name:  "levels paired by their order",
			older: &Result{File: "a", Definitions: "t", Levels: []Level{{Mode: "request_rate", Value: "1.9"}, {}, {Mode: "concurrency", Value: "8"}}},
			new:   &Result{File: "b", Definitions: "t", Levels: []Level{{Mode: "request_rate", Value: "2.1"}, {Mode: "concurrency", Value: "2"}}},
			pair:  levelpair.Order,
			want:  []string{"--pair order): the loads of 2 of 2 pairs differ", "request rate 1.9 → request rate 2.1", "load not stated → concurrency 2", "concurrency 8 is only in a"},
		},
		{
			name:  "levels paired by their kind",
			older: &Result{File: "a", Definitions: "t", Levels: []Level{{Mode: "throughput"}, {Mode: "request_rate", Value: "1"}, {Mode: "request_rate", Value: "3"}}},
			new:   &Result{File: "b", Definitions: "t", Levels: []Level{{Mode: "request_rate", Value: "2"}, {Mode: "request_rate", Value: "3"}, {Mode: "concurrency", Value: "1"}}},
			pair:  levelpair.Kind,
			want:  []string{"--pair kind): the loads of 1 of 2 pairs differ", "request rate 1 → request rate 2", "throughput is only in a", "concurrency 1 is only in b"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Compare(tt.older, tt.new, tt.pair)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := c.Formats().In("text", 0)(&b); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				absent, not := strings.CutPrefix(want, "!")
				if strings.Contains(b.String(), absent) == not {
					t.Errorf("%q: present %v\n%s", absent, !not, b.String())
				}
			}
		})
	}
}

// A figure without a number has no value in JSON and an empty cell in CSV.
func TestReportWithoutNumber(t *testing.T) {
	all := []*Result{result("vllm", "concurrency", "4", "ttft p99 null", "ttft mean 150.50")}
	for format, want := range map[string]string{
		"csv":  "vllm4.json,vllm,,,concurrency 4,concurrency,4,ttft,p99,,ms\nvllm4.json,vllm,,,concurrency 4,concurrency,4,ttft,mean,150.50,ms\n",
		"text": "ttft (ms)  n/a  150.50",
		"json": `"text": "n/a"`,
	} {
		var b strings.Builder
		if err := Report(all).In(format, 0)(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s lacks %q:\n%s", format, want, b.String())
		}
	}
}

// sweep returns a result of two levels of one load, which a setting tells apart.
func sweep(file, settings string, texts ...string) *Result {
	r := &Result{File: file, Definitions: "vllm", Model: "m"}
	for i, text := range texts {
		l := result("vllm", "concurrency", "4", text).Levels[0]
		l.Settings = []Setting{{"seqs", string(settings[i])}, {"data", file}}
		r.Levels = append(r.Levels, l)
	}
	r.TellApart()
	return r
}

func TestTellApart(t *testing.T) {
	r := sweep("a", "48", "ttft p99 100", "ttft p99 100")
	if a, b := r.Levels[0].Name(), r.Levels[1].Name(); a != "concurrency 4 · seqs 4" || b != "concurrency 4 · seqs 8" {
		t.Errorf("names %q and %q", a, b)
	}
	r.Levels[1].Value = "5"
	r.TellApart()
	if a := r.Levels[0].Name(); a != "concurrency 4" {
		t.Errorf("levels of two loads: name %q", a)
	}
	r.Levels[1].Value, r.Levels[1].Settings = "4", nil // a setting that only one level states
	r.TellApart()
	if a, b := r.Levels[0].Name(), r.Levels[1].Name(); a != "concurrency 4 · seqs 4 · data a" || b != "concurrency 4" {
		t.Errorf("names %q and %q", a, b)
	}
}

// Levels are paired by the settings that tell them apart; other settings that differ are named.
func TestCompareSettings(t *testing.T) {
	c, err := Compare(sweep("a", "48", "ttft p99 100", "ttft p99 100"), sweep("b", "84", "ttft p99 150.50", "ttft p99 100"), levelpair.Load)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Levels) != 2 || c.Levels[0].Rows[0].change() != 0 || c.Levels[1].Rows[0].change() != 0.505 {
		t.Errorf("levels %+v", c.Levels)
	}
	if want := "settings of concurrency 4 · seqs 4 differ between a and b: data a and b"; len(c.Lost) != 2 || c.Lost[0] != want {
		t.Errorf("notes %q, want first %q", c.Lost, want)
	}
}

func TestTrend(t *testing.T) {
	all := []*Result{
		sweep("a", "48", "ttft p99 100", "ttft p99 100"), sweep("b", "84", "ttft p99 150.50", "ttft p99 null"),
		result("vllm", "concurrency", "9", "ttft p99 0", "itl p99 100"),
	}
	tr, err := NewTrend(all, []string{"x", "", ""}, false)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := tr.Formats().In("csv", 0)(&b); err != nil {
		t.Fatal(err)
	}
	want := `level,metric,statistic,unit,point,file,value,change
concurrency 4 · seqs 4,ttft,p99,ms,x,a,100,0
concurrency 4 · seqs 4,ttft,p99,ms,b,b,,
concurrency 4 · seqs 8,ttft,p99,ms,x,a,100,0
concurrency 4 · seqs 8,ttft,p99,ms,b,b,150.50,0.505
concurrency 9,ttft,p99,ms,vllm9.json,vllm9.json,0,
concurrency 9,itl,p99,ms,vllm9.json,vllm9.json,100,0
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	for _, byLoad := range []bool{false, true} { // of results with one level
		tr, err := NewTrend([]*Result{result("vllm", "concurrency", "4", "ttft p99 100"), result("vllm", "concurrency", "9", "ttft p99 100")}, []string{"", ""}, byLoad)
		if err != nil || len(tr.Levels) == 1 == byLoad {
			t.Errorf("by load %v: %d levels, error %v", byLoad, len(tr.Levels), err)
		}
	}
	// The second level of the same load is not the first one, which took its place from another result.
	one, twice := result("vllm", "concurrency", "8", "ttft p99 100"), result("vllm", "concurrency", "8", "ttft p99 150.50")
	twice.Levels = append(twice.Levels, result("vllm", "concurrency", "8", "ttft p99 0").Levels...)
	if tr, err = NewTrend([]*Result{one, one, twice}, []string{"", "", ""}, false); err != nil || len(tr.Levels) != 2 || tr.Levels[1].Rows[0].Figures[2].Text != "0" {
		t.Errorf("a load twice in one result: %+v, error %v", tr.Levels, err)
	}
	if _, err := NewTrend([]*Result{all[0], result("AIPerf", "", "")}, []string{"", ""}, false); err == nil {
		t.Error("two tools are lined up")
	}
}

// The documents of JSON follow their schemas, and the page lists the columns of CSV.
func TestDocuments(t *testing.T) {
	a, b := sweep("a", "48", "ttft p99 100", "ttft p99 null"), sweep("b", "48", "ttft p99 150.50", "gone - 0")
	c, err := Compare(a, b, levelpair.Load)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := NewTrend([]*Result{a, b}, []string{"", ""}, false)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/reference/stated.md")
	if err != nil {
		t.Fatal(err)
	}
	for schema, f := range map[string]*sheet.Formats{
		"stated.schema.json": Report([]*Result{a, b}), "stated-diff.schema.json": c.Formats(), "stated-trend.schema.json": tr.Formats(),
		"stated-definitions.schema.json": Definitions(a, []Formula{{"TTFT", "ttft", "first token − start", ""}}),
	} {
		schematest.Open(t, schema).Formats(t, schema, f, 80, func(string) bool { return false }, false)
		for _, column := range f.Columns {
			if !strings.Contains(string(page), "`"+column+"`") {
				t.Errorf("docs/reference/stated.md lacks the column %s of %s", column, schema)
			}
		}
	}
}

// A table of more statistics than it shows says how many it lacks.
func TestManyStatistics(t *testing.T) {
	var figures []string
	for i := range mostStatistics + 3 {
		figures = append(figures, fmt.Sprintf("ttft s%d 1", i), fmt.Sprintf("itl s%d 1", i))
	}
	var b strings.Builder
	if err := Report([]*Result{result("vllm", "concurrency", "4", figures...)}).In("text", 0)(&b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "s63") || strings.Contains(text, "s64") || !strings.Contains(text, "3 further statistics: see --format json or csv") {
		t.Error(text)
	}
}
