package profilejson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// The files of every release of perf_analyzer are valid.
func TestProfileExportGoldens(t *testing.T) {
	s := schematest.Open(t, "profile_export.schema.json")
	n := 0
	files, _ := golden.ProfileExports(t)
	for p, data := range files {
		if !utf8.Valid(data) {
			continue
		}
		n++
		if err := s.Check(t, data); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	if n < 90 {
		t.Errorf("only %d files", n)
	}
}

// full returns a document in which each member that pa-record writes is there.
func full(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := profilejson.NewWriter(&out)
	version, n := "1", int64(7)
	request := func(phase export.Phase) *export.Request {
		return &export.Request{
			ID: 1, ScheduledNS: 2, IssuedNS: 3, StartNS: 4, SentNS: 5, FirstByteNS: 6, StartSource: export.SourceKernel,
			DNS: 1, Connect: 2, TLS: 3, Reused: true, SequenceID: 1<<64 - 1, SessionID: "s", Turn: 1, Agent: "a", ParentAgent: "b", Depth: 2, RequestID: "r", Worker: 2, Conn: 3, Rank: 4,
			Inputs: export.Fields{{Name: "payload", Value: export.Text("{}")}},
			Responses: []export.Response{
				{RecvNS: 7, Source: export.SourceKernel, Outputs: export.Fields{{Name: "response", Value: export.Text("data")}}},
				{RecvNS: 7, Source: export.SourceUser, Final: true, Error: true},
			},
			Status: export.StatusHTTPError, Code: 200, Message: "m", ServerID: "i", Phase: phase, HasMeta: true, Resent: true, OutputsDropped: true, UnrecordedEvents: 9,
			Stated: &export.Stated{InputTokens: &n, OutputTokens: &n, ReasoningTokens: &n, CachedTokens: &n, TokenEvents: &n, Silent: []int{0}, Text: &version},
		}
	}
	series := &export.Series{Source: "http://h:8002/metrics", Name: "n", Type: "gauge", Labels: []export.Label{{Name: "a", Value: "b"}}}
	err := errors.Join(
		w.WriteScrape(&export.Scrape{Source: "http://h:8002/metrics", StartNS: 1, EndNS: 2, Samples: []export.Sample{{Series: series, Value: 0.5}}}),
		w.WriteScrape(&export.Scrape{Source: "http://h:8002/metrics", StartNS: 3, EndNS: 4, Error: "e"}),
		w.WriteScrape(&export.Scrape{Source: "http://h:8002/metrics", StartNS: 5, EndNS: 6, Samples: []export.Sample{{Series: series, Value: math.NaN()}}}),
		w.BeginExperiment(export.ModeRequestRate, "2.5"),
		w.WriteRequest(&export.Request{NoOutputs: true}),
		w.WriteRequest(request(export.PhaseWarmup)),
		w.WriteRequest(request(export.PhaseMeasured)),
		w.WriteRequest(request(export.PhaseCooldown)),
		w.EndExperiment(&export.Experiment{
			WindowBoundaries: []uint64{0, 1<<64 - 1},
			Meta: &export.ExperimentMeta{
				StartNS: 1, EndNS: 2, Stable: new(true), RequestCounts: export.RequestCounts{Measured: 1, Failed: 2, Warmup: 3, Late: 4, Cancelled: 5, Resent: 7, OutputsDropped: 6},
				Interrupted: true, Warnings: []string{"w"}, ServerStats: fullServerStats(), Client: &export.ClientMeta{
					DurationNS: 1, OfferedPerSecond: 2, AchievedPerSecond: 3.5, Lateness: &export.LatencySummary{N: 1, P50NS: 2, P99NS: 3, MaxNS: 4},
					Turnaround: &export.LatencySummary{}, IssueToStart: &export.LatencySummary{}, GC: &export.GCMeta{Cycles: 1, PauseTotalNS: 2, PauseMaxNS: 3},
					SchedLatencyP99NS: 4, CPU: &export.CPUMeta{UserNS: 1, SystemNS: 2, Cores: 3, Share: 0.5, WaitNS: 4, Waits: 5}, MaxRSSBytes: 5,
					FDs: &export.FDMeta{Open: 1, Limit: 1<<64 - 1}, Reads: &export.ReadMeta{Responses: 2, Merged: 1}, Stamps: &export.StampCount{Kernel: 1},
				},
			},
		}),
		w.Close(&export.Run{Version: &version, ServiceKind: &version, Endpoint: &version, Meta: &export.RunMeta{
			Schema: export.Schema, Tool: "pa-record", StartNS: 1, EndNS: 2, Args: []string{"a"}, Config: json.RawMessage(`{"a":1}`),
			Host: &export.HostMeta{Name: "n", OS: "linux", Arch: "amd64", Kernel: "6", CPUs: 2, GoVersion: "go1"}, Model: "m", URL: "u",
			Protocol: "http", Streaming: new(true), DatasetSHA256: "00", Seed: 1, Stamps: &export.StampCount{Kernel: 1, User: 2}, Calibration: fullCalibration(),
			Telemetry:   []export.TelemetrySource{{Source: "s", Kind: export.TelemetryPrometheus, Host: "h", IntervalNS: 1, Scrapes: 2, Failed: 3, Dropped: 4, Series: 5, LeftOut: 6, Emptied: 7, Repeated: 8, Gone: 9, BadLines: 10, FirstBadLine: 11, Error: "e"}},
			Pauses:      []export.Pause{{StartNS: 1, EndNS: 3, DurationNS: 2, Cause: export.PauseStopped}, {StartNS: 4, EndNS: 6, DurationNS: 2, Cause: export.PauseSuspended}},
			Interrupted: "SIGINT", Warnings: []string{"w"}, Import: &export.Import{Format: "f", Lacks: []export.Lack{{Part: export.PartGaps, Why: "w"}}}, Repeat: &export.RepeatMeta{Label: "old", Index: 1, Of: 2, Group: "g", Order: []int{1, 0}},
		}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// fullServerStats has every member.
func fullServerStats() *export.ServerStats {
	c := export.CountNS{Count: 1, NS: 1<<64 - 1}
	return &export.ServerStats{
		Protocol: "grpc", Errors: []string{"e"},
		Models: []export.ServerModel{
			{Name: "m", Version: "1", Platform: "ensemble", Composing: []int{1}, BLS: true, ResponseCache: true, DynamicBatching: true, SequenceBatching: true, Decoupled: true, MaxBatchSize: 8},
			{Name: "n"},
		},
		Snapshots: []export.StatsSnapshot{{Edge: export.EdgeWindow, Window: 1, StartNS: 1, EndNS: 2, Stats: []export.ModelStats{{
			Name: "m", Version: "1", LastInference: 1, InferenceCount: 2, ExecutionCount: 3,
			InferenceStats: export.InferenceStats{Success: c, Fail: c, Queue: c, ComputeInput: c, ComputeInfer: c, ComputeOutput: c, CacheHit: c, CacheMiss: c},
			BatchStats:     []export.BatchStats{{BatchSize: 1, ComputeInput: c, ComputeInfer: c, ComputeOutput: c}},
		}}}, {Edge: export.EdgeEnd}},
	}
}

// The files of pa-record are valid, and the schema describes each member of them.
func TestProfileExportWriter(t *testing.T) {
	data := full(t)
	if err := schematest.Open(t, "profile_export.schema.json").Check(t, data); err != nil {
		t.Errorf("%v\n%s", err, data)
	}
	var doc struct {
		PA          map[string]any
		Experiments []struct {
			PA map[string]any
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	excluded, ok := doc.Experiments[0].PA["excluded_requests"].([]any)
	if !ok || len(excluded) != 3 {
		t.Fatalf("excluded_requests: %v", doc.Experiments[0].PA)
	}
	request := excluded[0].(map[string]any)
	for _, tt := range []struct {
		def  string
		keys []string
	}{
		{"run_meta", slices.Collect(maps.Keys(doc.PA))},
		{"run_meta", jsonNames(reflect.TypeFor[export.RunMeta]())},
		{"run_meta/dataset", jsonNames(reflect.TypeFor[export.DatasetMeta]())},
		{"run_meta/repeat", jsonNames(reflect.TypeFor[export.RepeatMeta]())},
		{"run_meta/import", jsonNames(reflect.TypeFor[export.Import]())},
		{"request_meta/stated", jsonNames(reflect.TypeFor[export.Stated]())},
		{"experiment_meta", slices.Collect(maps.Keys(doc.Experiments[0].PA))},
		{"experiment_meta", jsonNames(reflect.TypeFor[export.ExperimentMeta]())},
		{"telemetry_source", jsonNames(reflect.TypeFor[export.TelemetrySource]())},
		{"server_stats", jsonNames(reflect.TypeFor[export.ServerStats]())},
		{"model_stats", jsonNames(reflect.TypeFor[export.ModelStats]())},
		{"client_meta", jsonNames(reflect.TypeFor[export.ClientMeta]())},
		{"spread", jsonNames(reflect.TypeFor[export.LatencySummary]())},
		{"request", slices.Collect(maps.Keys(request))},
		{"request_meta", slices.Collect(maps.Keys(request["pa"].(map[string]any)))},
	} {
		properties := definition(t, tt.def)
		if len(tt.keys) == 0 {
			t.Errorf("%s: no members to look for", tt.def)
		}
		for _, k := range tt.keys {
			if _, ok := properties[k]; !ok {
				t.Errorf("%s: member %q is not described", tt.def, k)
			}
		}
	}
}

// jsonNames returns the names of the members of a struct in JSON.
func jsonNames(t reflect.Type) []string {
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous {
			continue // its fields follow
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// definition returns the properties of a definition, or with "name/member" the
// properties of its member.
func definition(t *testing.T, name string) map[string]any {
	t.Helper()
	name, member, nested := strings.Cut(name, "/")
	properties := definitions(t, "profile_export.schema.json")[name].(map[string]any)["properties"].(map[string]any)
	if nested {
		properties = properties[member].(map[string]any)["properties"].(map[string]any)
	}
	return properties
}

func TestProfileExportInvalid(t *testing.T) {
	s := schematest.Open(t, "profile_export.schema.json")
	for _, tt := range []struct{ name, doc string }{
		{"no experiments", `{}`},
		{"negative time", `{"experiments":[{"requests":[{"timestamp":-1,"response_timestamps":[]}]}]}`},
		{"time with a fraction", `{"experiments":[{"requests":[{"timestamp":1.5,"response_timestamps":[]}]}]}`},
		{"time above 64 bits", `{"experiments":[{"requests":[{"timestamp":18446744073709551616,"response_timestamps":[]}]}]}`},
		{"time as a string", `{"experiments":[{"requests":[{"timestamp":"1","response_timestamps":[]}]}]}`},
		{"no response_timestamps", `{"experiments":[{"requests":[{"timestamp":1}]}]}`},
		{"output that is a string", `{"experiments":[{"requests":[{"timestamp":1,"response_timestamps":[1],"response_outputs":["x"]}]}]}`},
		{"unknown status", `{"experiments":[{"requests":[{"timestamp":1,"response_timestamps":[],"pa":{"status":"tired"}}]}]}`},
		{"value as a string", `{"experiments":[{"experiment":{"mode":"concurrency","value":"1"},"requests":[]}]}`},
		{"bad request among the excluded", `{"experiments":[{"requests":[],"pa":{"excluded_requests":[{}]}}]}`},
	} {
		if err := s.Check(t, []byte(tt.doc)); err == nil {
			t.Errorf("%s: valid", tt.name)
		}
	}
}
