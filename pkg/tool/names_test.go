package tool

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

var update = flag.Bool("update", false, "rewrite docs/reference/names.md")

// recorded are runs of the two kinds that dialects report, by archive and path.
var recorded = [...]struct{ archive, path string }{
	{"definitions_guide", "run.json"},
	{"perf_analyzer", "2.60.0/vllm_sweep/profile_export.json"},
}

// reader opens a recorded run.
func reader(t *testing.T, archive, path string) export.Reader {
	t.Helper()
	b, err := fs.ReadFile(golden.FS(t, archive), path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := profilejson.NewReader(context.Background(), path, bytes.NewReader(b), int64(len(b)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// newest holds the dialects of the page: the newest release of each tool that prints a report.
var newest = [...]struct{ title, name string }{
	{"perf_analyzer", "perf_analyzer"},
	{"GenAI-Perf", "genai-perf-main"},
	{"AIPerf", "aiperf"},
	{"vLLM bench", "vllm"},
	{"SGLang bench", "sglang"},
	{"TensorRT-LLM bench", "trtllm-main"},
	{"llm_perf", "llm_perf-v2"},
}

// dialectNames returns the names of the newest dialects by our key, as they print them of recorded
// runs.
func dialectNames(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	for _, run := range recorded {
		var tools []*dialect.Tool
		for _, n := range newest {
			tools = append(tools, Dialects().Find(n.name))
		}
		r := reader(t, run.archive, run.path)
		sides, err := dialect.Define(context.Background(), r, 0, tools, func(*dialect.Tool) dialect.Config {
			e := &r.Run().Experiments[0]
			return dialect.Config{Level: dialect.Level{Mode: e.Mode, Value: e.Value}}
		}, analyze.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for i, side := range sides[1:] {
			for _, d := range side.Definitions {
				key := d.Measure.Key()
				if d.Name == "" || key == "" {
					continue
				}
				if all[key] == nil {
					all[key] = map[string]string{}
				}
				if all[key][newest[i].name] == "" {
					all[key][newest[i].name] = d.Name
				}
			}
		}
	}
	return all
}

// Every measure that tools define is an entry of package explain, and every tool has a name for the
// latency of a request.
func TestDialectNames(t *testing.T) {
	known := map[string]bool{}
	for _, e := range explain.All() {
		known[e.Key] = true
	}
	all := dialectNames(t)
	for key := range all {
		if !known[key] {
			t.Errorf("%s is in no table of package explain", key)
		}
	}
	for _, n := range newest {
		if all["e2el_ns"][n.name] == "" {
			t.Errorf("%s has no name for the latency", n.name)
		}
	}
	for _, m := range explain.Measures() {
		if m.Key() == "" && m != explain.Requests {
			t.Errorf("%s has no key", m)
		}
	}
}

// bytesAsTokens counts bytes: inference-perf needs a tokenizer.
type bytesAsTokens struct{}

func (bytesAsTokens) Count(text string) int            { return len(text) }
func (bytesAsTokens) AddSpecial(ids []uint32) []uint32 { return ids }

// The names of GuideLLM and inference-perf are members of the files that we write for these tools, which
// are compared with files of the tools elsewhere.
func TestResultFileNames(t *testing.T) {
	run := recorded[0]
	for name, of := range map[string]func(*explain.Entry) string{
		"guidellm": func(e *explain.Entry) string { return e.GuideLLM }, "inference-perf": func(e *explain.Entry) string { return e.InferencePerf },
	} {
		var b bytes.Buffer
		written, err := Dialects().Find(name).Result.Write(context.Background(), reader(t, run.archive, run.path), dialect.Config{Tokenizer: bytesAsTokens{}}, "x.json", &b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, c := range written.Companions {
			if err := c.Write(&b); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for _, e := range explain.All() {
			if member := of(&e); member != "" {
				n++
				if !strings.Contains(b.String(), `"`+member+`":`) {
					t.Errorf("%s: no member %q for %s", name, member, e.Key)
				}
			}
		}
		if n < 8 {
			t.Errorf("%s: %d names", name, n)
		}
	}
}

// The page of names is made of the tables of the code.
func TestNamesPage(t *testing.T) {
	const path = "../../docs/reference/names.md"
	got := namesPage(dialectNames(t))
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update rewrites):\n%s", path, diff)
	}
}

// namesPage returns the page.
func namesPage(dialects map[string]map[string]string) string {
	var b strings.Builder
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + text + "`"
	}
	row := func(cells ...string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	head := func(cells ...string) {
		row(cells...)
		b.WriteString("|" + strings.Repeat("---|", len(cells)) + "\n")
	}
	b.WriteString(pageHead)
	head("key", "OpenTelemetry", "of one request", "how ours differs")
	for _, e := range explain.All() {
		if o := e.OTel; o.Name != "" || o.Attribute != "" {
			name := code(o.Name)
			if o.TokenType != "" {
				name += ", " + code(explain.OTelTokenType+"="+o.TokenType)
			}
			row(code(e.Key), name, code(o.Attribute), o.Differs)
		}
	}
	for _, figure := range explain.ServerFigures() {
		row("server: "+figure, code(explain.OTelServer(figure)), "", "mean over the requests of the level")
	}
	b.WriteString(pageTools)
	titles := []string{"key", "label"}
	for _, n := range newest {
		titles = append(titles, n.title)
	}
	head(append(titles, "GuideLLM", "inference-perf")...)
	for _, e := range explain.All() {
		if dialects[e.Key] == nil && e.GuideLLM == "" && e.InferencePerf == "" {
			continue
		}
		cells := []string{code(e.Key), e.Label}
		for _, n := range newest {
			cells = append(cells, code(dialects[e.Key][n.name]))
		}
		row(append(cells, code(e.GuideLLM), code(e.InferencePerf))...)
	}
	b.WriteString(pageDefinitions)
	group := explain.Group("-")
	for _, e := range explain.All() {
		if e.Group != group {
			group = e.Group
			b.WriteString("\n### " + groupTitles[group] + "\n\n")
			head("key", "is", "unit", "formula", "remarks and source")
		}
		key := code(e.Key)
		if e.OfLevel && group != explain.Rates {
			key += " (level)"
		}
		remarks := e.Doc
		if e.Source != "" {
			remarks = strings.TrimPrefix(remarks+" ("+e.Source+")", " ")
		}
		row(key, e.Label, e.Unit, strings.ReplaceAll(e.Formula, "|", `\|`), remarks)
	}
	return b.String()
}

var groupTitles = map[explain.Group]string{
	explain.Usual: "Every report", explain.Rates: "Rates", explain.Quality: "`--metrics quality`", explain.Economics: "`--metrics economics`",
	explain.Prefix: "`--metrics prefix`", explain.Phases: "`--metrics phases`", explain.Images: "`--metrics images`",
	"sessions": "`--metrics sessions`", "audio": "`--metrics audio`", "realtime": "`--metrics realtime`", explain.Stated: "Rates over the duration that a file states",
}

const pageHead = `# Names

| to look up | see |
|---|---|
| our word for a conversation, an agent, a turn | [sessions, agents, turns](#sessions-agents-turns) |
| OpenTelemetry's name of a metric | [OpenTelemetry](#opentelemetry) |
| another tool's name of a metric | [other tools](#other-tools) |
| key, unit, formula and source of a figure | [our definitions](#our-definitions) |

` + "`go test ./pkg/tool -update`" + ` makes the other tables of the code, except the next one.

## Sessions, agents, turns

| word | is | in exports and lists | elsewhere |
|---|---|---|---|
| session | the requests of one job: of a conversation, or of an agent and its sub-agents | ` + "`session_id`" + ` | conversation; trajectory, tree, graph (AIPerf, Dynamo, GuideLLM); task (agentperf-local) |
| play | one time that a session is sent: ` + "`s1`" + `, then ` + "`s1#2`" + ` | ` + "`session_id`" + ` | lane and play (AgentX) |
| conversation | a session without sub-agents, in which each request continues the one before | | |
| agent, sub-agent | one sequence of requests in a session; the first is the root, each other one has a parent | ` + "`agent`" + `, ` + "`depth`" + ` | branch (TensorRT-LLM), stream (rollouts) |
| turn | the number of a request within its agent, from 0 | ` + "`turn`" + ` | round (TraceLab), iteration |
| request | what is sent and answered once | ` + "`request`" + ` | call, event, span |
| history | the messages of a request before its new ones | | context |

## OpenTelemetry

` + "`pa-analyze report --format json --names otel`" + ` writes the report with the names of OpenTelemetry's
[conventions for GenAI](https://github.com/open-telemetry/semantic-conventions-genai)
([schema](../../schemas/report-otel.schema.json)), ` + "`pa-analyze requests --format jsonl --names otel`" + ` the list of
requests. The conventions have the status *development*: names may change. Pull request 374 of their
repository, open in August 2026, would replace ` + "`gen_ai.client.token.usage`" + `.

Times of metrics, of requests and of servers are seconds. The conversion is exact: a number has the digits
of the nanoseconds of ` + "`--names pa`" + `, with the decimal point nine places to the left. Members whose names end
in ` + "`_ns`" + `, such as ` + "`duration_ns`" + `, stay nanoseconds. Names that begin with ` + "`pa.`" + ` are ours, for metrics without a
name in the conventions. Each metric also has its ` + "`key`" + ` of ` + "`--names pa`" + `.

The member ` + "`attributes`" + ` of a level has ` + "`gen_ai.operation.name`, `gen_ai.provider.name`" + ` (the kind of service) and
` + "`gen_ai.request.model`" + `, as far as the file knows them. A failed request has ` + "`error.type`" + `.

`

const pageTools = `
## Other tools

The newest release of each tool, as [dialects](../tools/README.md#reports-as-other-tools-make-them) and ` + "`convert --as`" + ` write it. The same name does
not mean the same formula, and tools often swap the formulas of ITL and TPOT:
[definitions](definitions.md) shows both for a file.

`

const pageDefinitions = `
## Our definitions

The keys are the keys of JSON. *(level)* marks figures with one value for a level. [Metrics](metrics.md) and [groups of metrics](groups.md) explain them.
`
