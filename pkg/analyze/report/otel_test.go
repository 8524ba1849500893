package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
)

// otelInputs are the reports whose documents are kept: a real run, and one of everything.
func otelInputs(t *testing.T) map[string]Input {
	everything := full()
	e := &everything.Report.Experiments[0]
	e.Server = []serverfigures.Figure{
		{Name: "time to first token", Metric: "vllm:time_to_first_token_seconds", Kind: serverfigures.Time, Of: "m s", Source: "s", Unit: "ns", N: 4, Mean: 123456789.5, Client: 123456790, Compared: true},
		{Name: "queue", Metric: "vllm:request_queue_time_seconds", Kind: serverfigures.Time, Of: "m s", Source: "s", Unit: "ns", N: 4, Mean: 0.25},
		{Name: "GPU power", Metric: "DCGM_FI_DEV_POWER_USAGE", Kind: serverfigures.Gauge, Of: "g", Source: "s", Unit: "W", N: 2, Mean: 1e-7, Min: 0, Max: 2e21},
	}
	e.Unavailable = []figure.Unavailable{{Key: "ttft_ns", Why: "none"}, {Key: "ttst_ns", Why: "none"}}
	return map[string]Input{"full": everything, "sweep": analyzed(t, golden.FS(t, "perf_analyzer"), "2.60.0/vllm_sweep")}
}

func TestOTelGolden(t *testing.T) {
	schema := schematest.Open(t, "report-otel.schema.json")
	for name, in := range otelInputs(t) {
		var got bytes.Buffer
		if err := OTelJSON(in)(&got); err != nil {
			t.Fatal(err)
		}
		if err := schema.Check(t, got.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		compareGolden(t, filepath.Join("testdata", name+"_otel.json"), got.Bytes())
	}
	cfg := parts(t)
	quality := quality.Default()
	cfg.Quality, cfg.Economics, cfg.Prefix, cfg.Phases = &quality, &figure.EconomicsConfig{}, true, true
	grouped := measured(t, "sweep.json", sweep(), cfg)
	if e := &grouped.Report.Experiments[0]; len(e.Windows) == 0 || e.Quality == nil || len(e.Quality.Metrics) == 0 {
		t.Errorf("no windows or no quality: %+v", e)
	}
	var several bytes.Buffer
	if err := OTelJSONArray([]Input{full(), grouped})(&several); err != nil {
		t.Fatal(err)
	}
	if err := schema.Check(t, several.Bytes()); err != nil {
		t.Errorf("several: %v", err)
	}
}

func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got, -update rewrites):\n%s", file, diff)
	}
}

// Each metric of the usual document is in the document with the names of OpenTelemetry, with the same
// decimal numbers: 10⁻⁹ of them for times.
func TestOTelNumbers(t *testing.T) {
	type document struct {
		Experiments []struct {
			Metrics json.RawMessage
		}
	}
	for name, in := range otelInputs(t) {
		var own, otel bytes.Buffer
		if err := JSON(in)(&own); err != nil {
			t.Fatal(err)
		}
		if err := OTelJSON(in)(&otel); err != nil {
			t.Fatal(err)
		}
		var a, b document
		if err := json.Unmarshal(own.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(otel.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		compared := 0
		for i := range a.Experiments {
			var want map[string]map[string]json.Number
			var got []map[string]any
			numbers := json.NewDecoder(bytes.NewReader(b.Experiments[i].Metrics))
			numbers.UseNumber()
			if err := json.Unmarshal(a.Experiments[i].Metrics, &want); err != nil {
				t.Fatal(err)
			}
			if err := numbers.Decode(&got); err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("%s: %d metrics, want %d", name, len(got), len(want))
			}
			for _, m := range got {
				key := m["key"].(string)
				scale := big.NewRat(1, 1)
				if strings.HasSuffix(key, "_ns") {
					scale.SetFrac64(1, 1e9)
				}
				if s := m["unit"] == "s"; s != strings.HasSuffix(key, "_ns") {
					t.Errorf("%s: unit %v", key, m["unit"])
				}
				for statistic, v := range want[key] {
					x, _ := new(big.Rat).SetString(v.String())
					y, ok := new(big.Rat).SetString(m[statistic].(json.Number).String())
					factor := scale
					if statistic == "n" {
						factor = big.NewRat(1, 1)
					}
					if !ok || y.Cmp(x.Mul(x, factor)) != 0 {
						t.Errorf("%s: %s of %s is %v, want %s ns", name, statistic, key, m[statistic], v)
					}
					compared++
				}
			}
		}
		if compared < 100 {
			t.Errorf("%s: only %d numbers", name, compared)
		}
	}
}

// The members of metrics and figures in the schema of a report are the entries of package explain, each with its
// definition.
func TestSchemaMembers(t *testing.T) {
	const file = "../../../schemas/report.schema.json"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	members := map[string]string{}
	for _, e := range explain.All() {
		kind, of := "metrics", cmp.Or(string(e.Group), "every report")
		ref := "summary"
		if e.OfLevel {
			kind, ref = "figures", "levelFigure"
			switch e.Group {
			case explain.Rates:
				ref = "rate"
			case explain.Quality:
				ref = "qualityFigure"
			}
		}
		doc, err := json.Marshal(e.Definition())
		if err != nil {
			t.Fatal(err)
		}
		members[kind+" of "+of] += fmt.Sprintf("%q: { \"$ref\": \"#/$defs/%s\", \"description\": %s },\n", e.Key, ref, doc)
	}
	for place, lines := range members {
		head := fmt.Sprintf("\"$comment\": \"Made of package explain: %s\",\n", place)
		before, after, ok := strings.Cut(text, head)
		if !ok {
			t.Fatalf("%s: no %s", file, head)
		}
		indent := after[:strings.IndexByte(after, '"')]
		start := indent + "\"properties\": {\n"
		rest := strings.TrimPrefix(after, start)
		_, end, ok := strings.Cut(start+rest, "\n"+indent+"}")
		if !ok || rest == after {
			t.Fatalf("%s: %s: no members", file, place)
		}
		lines = strings.ReplaceAll(strings.TrimSuffix(lines, ",\n"), "\n", "\n"+indent+"  ")
		text = before + head + start + indent + "  " + lines + "\n" + indent + "}" + end
	}
	compareGolden(t, file, []byte(text))
}

// reportSchema returns the schema of the usual document.
func reportSchema(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../../schemas/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// The schema of the document is the schema of the usual document with other metrics.
func TestOTelSchema(t *testing.T) {
	s := reportSchema(t)
	object := func(x any, path ...string) map[string]any {
		for _, name := range path {
			x = x.(map[string]any)[name]
		}
		return x.(map[string]any)
	}
	s["$id"], s["title"] = "https://github.com/pa-tools/pa/schemas/report-otel.schema.json", OTelSchema
	s["$comment"] = "Made of report.schema.json: go test ./pkg/analyze/report -run OTelSchema -update"
	s["description"] = "What pa-analyze report --format json --names otel writes: report.schema.json with metrics as arrays, by the names of OpenTelemetry's conventions for GenAI. Names that begin with pa. are ours. Times of metrics and of servers are seconds, with exactly the digits of the nanoseconds of report.schema.json; members whose names end in _ns stay nanoseconds."
	report := object(s, "$defs", "report", "properties")
	report["schema"] = map[string]any{"const": OTelSchema}
	report["conventions"] = map[string]any{"type": "string", "description": "Where the names come from; their status is development."}
	experiment := object(s, "$defs", "experiment", "properties")
	attributes := map[string]any{"type": "object", "description": "Attributes of all metrics of the level, as far as the file knows them.", "additionalProperties": map[string]any{"type": "string"}}
	experiment["attributes"] = attributes
	experiment["unavailable"].(map[string]any)["description"] = "Why metrics have no value, by their names."
	summary := object(s, "$defs", "summary")
	members := map[string]any{
		"name":       map[string]any{"type": "string", "pattern": `^(gen_ai\.client|pa)\.`},
		"key":        map[string]any{"type": "string", "description": "The name in report.schema.json."},
		"unit":       map[string]any{"enum": []any{"s", "{token}", "1"}, "description": "As UCUM has it."},
		"attributes": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}},
		"differs":    map[string]any{"type": "string", "description": "How the values differ from the metric of the conventions."},
	}
	for name, v := range object(summary, "properties") {
		members[name] = v
	}
	metrics := map[string]any{
		"type": "array", "description": "Metrics without a value are absent.",
		"items": map[string]any{
			"type": "object", "additionalProperties": false, "properties": members,
			"required": append([]any{"name", "key", "unit"}, summary["required"].([]any)...),
		},
	}
	defs := object(s, "$defs")
	defs["metrics"] = metrics
	for _, group := range [...]string{"quality", "phases", "audio"} {
		object(defs, group, "properties")["metrics"] = map[string]any{"$ref": "#/$defs/metrics"}
	}
	object(experiment, "server", "items", "properties", "unit")["enum"] = []any{"s", "ratio", "W", "J", "bytes", "count"}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "../../../schemas/report-otel.schema.json", b.Bytes())
}

// The schema of a report has the keys and units of the table of package explain.
func TestSchemaKeys(t *testing.T) {
	s := reportSchema(t)
	at := func(path ...string) any {
		x := s["$defs"]
		for _, name := range path {
			x = x.(map[string]any)[name]
		}
		return x
	}
	members := func(path ...string) (keys []string) {
		for key := range at(path...).(map[string]any) {
			keys = append(keys, key)
		}
		return keys
	}
	enum := func(path ...string) (all []string) {
		for _, v := range at(append(path, "enum")...).([]any) {
			all = append(all, v.(string))
		}
		return all
	}
	units := map[bool][]string{true: enum("qualityFigure", "properties", "unit"), false: enum("levelFigure", "properties", "unit")}
	want := map[string][]string{}
	for _, e := range explain.All() {
		place := string(e.Group) + " metrics"
		if e.OfLevel {
			place = string(e.Group) + " figures"
			if e.Group != explain.Rates && !slices.Contains(units[e.Group == explain.Quality], e.Unit) {
				t.Errorf("%s: the schema does not know the unit %s", e.Key, e.Unit)
			}
		}
		want[place] = append(want[place], e.Key)
	}
	for place, keys := range want {
		var got []string
		switch place {
		case " metrics":
			got = members("metrics", "properties")
		case "rates figures":
			got = members("throughput", "properties")
		default:
			group, kind, _ := strings.Cut(place, " ")
			got = members(group, "properties", kind, "properties")
		}
		slices.Sort(got)
		slices.Sort(keys)
		if diff := gocmp.Diff(keys, got); diff != "" {
			t.Errorf("%s (-table +schema):\n%s", place, diff)
		}
	}
}
