package diff

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// writers returns the writers of a result, by the ends of their golden files.
func writers(res *Result) map[string]sheet.Renderer {
	f := res.Formats(true)
	return map[string]sheet.Renderer{
		"txt": f.In("text", 0), "short.txt": res.Formats(false).In("text", 0), "xml": f.In("junit", 0), "md": f.In("markdown", 0), "csv": f.In("csv", 0), "json": f.In("json", 0),
	}
}

func side6(t *testing.T, name string, seed uint64, itl float64) []*Run {
	var runs []*Run
	for i := range uint64(6) {
		runs = append(runs, read(t, fmt.Sprintf("%s-%d.json", name, i+1), recipe{seed: seed + i, requests: 60, tokens: 8, ttft: 30, itl: itl, levels: []string{"1", "4"}}))
	}
	return runs
}

// scenarios are comparisons as they are met.
func scenarios(t *testing.T) map[string]*Result {
	t.Helper()
	if madeScenarios == nil {
		madeScenarios = makeScenarios(t)
	}
	return madeScenarios
}

// madeScenarios keeps the scenarios, which no test changes, from the first test that needs
// them.
var madeScenarios map[string]*Result

func makeScenarios(t *testing.T) map[string]*Result {
	gates := func(res *Result, texts ...string) *Result {
		t.Helper()
		var exprs []*GateExpr
		for _, s := range texts {
			e, err := (&Options{Sides: res.o.Sides}).ParseGate(s)
			if err != nil {
				t.Fatal(err)
			}
			exprs = append(exprs, e)
		}
		res.Gate(exprs)
		return res
	}
	one := func(name string, c recipe) []*Run { return []*Run{read(t, name, c)} }
	base := recipe{seed: 1, requests: 1500, tokens: 6, ttft: 30, itl: 20}
	slower := recipe{seed: 2, requests: 1500, tokens: 6, ttft: 30, itl: 21}
	paired, pairedSlower := base, slower
	paired.prompts, pairedSlower.prompts = 10, 10
	few := recipe{seed: 3, requests: 40, tokens: 6, ttft: 30, itl: 20}
	other := recipe{seed: 4, requests: 400, tokens: 9, ttft: 30, itl: 20, failing: 10, levels: []string{"4", "8"}, change: func(m *memory) {
		m.run.Meta.Model = "tiny|2\x1b[31m"
		m.run.Meta.DatasetSHA256 = strings.Repeat("0d", 32)
		m.run.Meta.Warnings = []string{"the wall clock was set by 1s between 1s and 2s after the start; times may be off"}
		m.run.Experiments[0].Meta.Warnings = []string{"the client may be the limit: it used 97% of the time of its 8 cores; give it more cores, or send less load"}
		for i := range m.requests[0] {
			for j := range m.requests[0][i].Responses {
				m.requests[0][i].Responses[j].Source = export.SourceUser
			}
		}
	}}
	window := analyze.Config{From: answer.FromStart, TokenSource: answer.TokenResponses, IncludeWarmup: true, Selection: analyze.Selection{Window: &analyze.Interval{From: 5 * time.Second, To: 50 * time.Second}}}
	trimmed := func(name string, seed uint64) []*Run {
		var runs []*Run
		for i := range uint64(3) {
			runs = append(runs, readWith(t, fmt.Sprintf("%s-%d.json", name, i+1), recipe{seed: seed + i, requests: 60, tokens: 8, ttft: 30, itl: 20},
				analyze.Config{Selection: analyze.Selection{TrimStart: analyze.Trim{Share: 0.1}, TrimEnd: analyze.Trim{Length: 100 * time.Millisecond}}}))
		}
		return runs
	}
	nothing := recipe{seed: 5, requests: 20, tokens: 6, ttft: 30, itl: 20, failing: 1}
	cold := func(name string, seed uint64, itl float64) []*Run {
		var runs []*Run
		for i := range uint64(6) {
			c := recipe{seed: seed + 2*i, requests: 60, tokens: 8, ttft: 30, itl: itl}
			if i == 0 {
				c.ttft = 900
			}
			runs = append(runs, read(t, fmt.Sprintf("%s-%d.json", name, i+1), c))
		}
		return runs
	}
	outlying := gates(Compare(cold("old", 10, 20), cold("new", 11, 20)[1:], Options{LeaveOut: LeaveOut{Runs: []string{"new.5"}}}), "ttft_p50 worse")
	require, err := (&Options{}).ParseGate("all within 3%")
	if err != nil {
		t.Fatal(err)
	}
	outlying.Require([]*GateExpr{require})
	return map[string]*Result{
		"outlying": outlying,
		"single":   gates(Compare(one("old.json", base), one("new.json", slower), Options{}), "tpot_p50 different && tpot_p50.low>+3%", "new.ttft_p50>1s"),
		"servers":  Compare([]*Run{watched(t, "old.json", "h1", 1, 0.010, 1000)}, []*Run{watched(t, "new.json", "h2", 2, 0.012, 900)}, Options{}),
		"paired":   Compare(one("old.json", paired), one("new.json", pairedSlower), Options{}),
		"part":     Compare([]*Run{readWith(t, "old.json", paired, window)}, []*Run{readWith(t, "new.json", pairedSlower, window)}, Options{}),
		"parts":    Compare(trimmed("old", 10), trimmed("new", 20), Options{}),
		"several":  gates(Compare(side6(t, "old", 10, 20), side6(t, "new", 20, 21), Options{}), "e2el_p50>+2%"),
		"named":    gates(Compare(append(side6(t, "a", 10, 20), one("a.7.json", other)...), side6(t, "b", 20, 21), Options{Ignore: []string{"all"}, Sides: Sides{"vllm", "ours"}}), "e2el_p50>+2%", "Ours.ttft_p50>1ms && old.ttft_p50>1ms"),
		"few":      gates(Compare(one("old.json", few), one("new.json", base), Options{}), "ttft_p50 worse"),
		"refused":  Compare(one("old.json", base), one("new.json", other), Options{}),
		"ignored":  Compare(one("old.json", base), one("new.json", other), Options{Ignore: []string{All}}),
		"failed":   gates(Compare(one("old.json", few), one("new.json", nothing), Options{}), "new.failed_share>1%", "new.e2el_p50>1s"),
	}
}

// The golden files are in testdata; -update rewrites them.
func TestGolden(t *testing.T) {
	schema := schematest.Open(t, "diff.schema.json")
	for name, res := range scenarios(t) {
		machine := slices.Contains([]string{"single", "several", "part", "refused", "named", "outlying"}, name) // else the schema is enough
		schema.Formats(t, name, res.Formats(true), 0, func(ext string) bool { return machine || ext != "json" && ext != "csv" }, *update)
		schema.Formats(t, name+".short", res.Formats(false), 0, func(ext string) bool { return ext == "txt" }, *update)
	}
}

// The document of the CSV names its columns, in their order, and every record that there is; it says which version it
// is by how the header begins.
func TestCSVDocument(t *testing.T) {
	doc, err := os.ReadFile("../../../schemas/diff_csv.md")
	if err != nil {
		t.Fatal(err)
	}
	if head := strings.Join(csvHeader[:6], ","); !strings.Contains(string(doc), "`pa-diff-csv/1`: its header begins with `"+head+"`") {
		t.Errorf("the document says of another header than %s", head)
	}
	var all []*sheet.Formats
	for _, res := range scenarios(t) {
		all = append(all, res.Formats(false))
	}
	schematest.CSV(t, "diff_csv.md", all)
}

// The schema describes each member that is written.
func TestSchemaMembers(t *testing.T) {
	var doc struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum []string `json:"enum"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(schematest.Read(t, "diff.schema.json"), &doc); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i := range Metrics {
		keys = append(keys, Metrics[i].Key)
	}
	if d := cmp.Diff(keys, doc.Defs["metric"].Properties["metric"].Enum); d != "" {
		t.Errorf("metrics (-code +schema):\n%s", d)
	}
}
