package profilejson_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/export"
)

// fullCalibration returns a calibration with each member.
func fullCalibration() *export.Calibration {
	e := &export.ClockError{N: 1, Truth: export.StampCount{Kernel: 1}, MedianNS: -1, P50NS: 1, P90NS: 1, P99NS: 1, P999NS: 1, MaxNS: 1}
	return &export.Calibration{
		Schema: export.CalibrationSchema, Tool: "pa-record", StartNS: 1, EndNS: 2, Host: &export.HostMeta{OS: "linux"},
		Services: []export.CalibratedService{{
			Service: "openai", Transport: "nethttp", Streams: 1, TokensPerSecond: 0.5, TokensPerRequest: 1, Rounds: 2,
			Recordings: []export.CalibratedRecording{
				{Stamps: "kernel", Requests: 1, Skipped: 1, Merged: 1, Receive: e, Start: e},
				{Stamps: "user"},
			},
		}},
		Limits: []string{"one."},
	}
}

// definitions returns the definitions of a schema by their names.
func definitions(t *testing.T, schema string) map[string]any {
	t.Helper()
	var doc struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(schematest.Read(t, schema), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Defs
}

// What a report and a comparison say about a selected part is the same.
func TestSelectedDefinitions(t *testing.T) {
	report, diff := definitions(t, "report.schema.json"), definitions(t, "diff.schema.json")
	for _, name := range []string{"selected", "count", "share"} {
		if d := cmp.Diff(report[name], diff[name]); d != "" || report[name] == nil {
			t.Errorf("%s (-report +diff):\n%s", name, d)
		}
	}
}

// The definition is the same wherever it is, and describes each member.
func TestCalibrationDefinitions(t *testing.T) {
	want := definitions(t, "calibration.schema.json")
	for _, name := range []string{"profile_export.schema.json", "report.schema.json"} {
		got := definitions(t, name)
		for def := range want {
			if d := cmp.Diff(want[def], got[def]); d != "" {
				t.Errorf("%s: %s is not the definition of calibration.schema.json (-want +got):\n%s", name, def, d)
			}
		}
	}
	properties := func(def any, path ...string) map[string]any {
		for _, p := range path {
			def = def.(map[string]any)["properties"].(map[string]any)[p].(map[string]any)["items"]
		}
		return def.(map[string]any)["properties"].(map[string]any)
	}
	for _, tt := range []struct {
		of   reflect.Type
		have map[string]any
	}{
		{reflect.TypeFor[export.Calibration](), properties(want["calibration"])},
		{reflect.TypeFor[export.CalibratedService](), properties(want["calibration"], "services")},
		{reflect.TypeFor[export.CalibratedRecording](), properties(want["calibrated_recording"])},
		{reflect.TypeFor[export.ClockError](), properties(want["clock_error"])},
		{reflect.TypeFor[export.StampCount](), properties(want["source_count"])},
	} {
		for _, name := range jsonNames(tt.of) {
			if _, ok := tt.have[name]; !ok {
				t.Errorf("%v: member %q is not described", tt.of, name)
			}
		}
	}
}

func TestCalibrationSchema(t *testing.T) {
	s := schematest.Open(t, "calibration.schema.json")
	b, err := json.Marshal(fullCalibration())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t, b); err != nil {
		t.Errorf("%s: %v", b, err)
	}
	for _, wrong := range []string{
		`{}`, `[]`,
		`{"schema":"pa-calibration/1","tool":"t","start_ns":1,"end_ns":-2,"services":[],"limits":[]}`,
		`{"schema":"pa-calibration/1","tool":"t","start_ns":1,"end_ns":2,"services":[{"service":"openai"}],"limits":[]}`,
		`{"schema":"pa-calibration/1","tool":"t","start_ns":1,"end_ns":2,"services":[],"limits":[1]}`,
	} {
		if s.Check(t, []byte(wrong)) == nil {
			t.Errorf("the schema takes %s", wrong)
		}
	}
}
