package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
)

// recordModels returns what a run with those arguments wrote, by id, and the models that
// its requests went to.
func recordModels(t *testing.T, args string) (*export.Run, []export.Request, []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "e.json")
	code, _, stderr := inProcess(t.Context(), t, append(strings.Fields(args), "--quiet", "--profile-export-file", out)...)
	if code != 0 {
		t.Fatalf("%s: exit code %d:\n%s", args, code, stderr)
	}
	run, all := exporttest.Read(t, out)
	slices.SortFunc(all, func(a, b export.Request) int { return int(a.ID) - int(b.ID) })
	var models []string
	for i := range all {
		models = append(models, all[i].Model)
	}
	return run, all, models
}

// Requests go to models in turn, whatever the service, and the record says to which.
func TestModelsRecorded(t *testing.T) {
	t.Parallel()
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(rows, []byte(`{"text": "one", "model": "b"}
{"text": "two"}
{"text": "three"}
{"text": "four", "model": "a"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	const quick = " -u sim://?ttft=1ms&itl=1ms&output_tokens=2&triton_model=add_sub&triton_model=other:add_sub "
	for _, tt := range []struct {
		name, args string
		models     []string // of the run
		want       string
	}{
		{"one model is not in each record", quick + "-m a --service-kind openai --request-count 2", nil, " "},
		{"in turn", quick + "-m a -m b --service-kind openai --request-count 5", []string{"a", "b"}, "a b a b a"},
		{"the data's own", quick + "-m a,b --service-kind openai --request-count all --input-data " + rows, []string{"a", "b"}, "b b a a"},
		{"the data's own, where there is one otherwise", quick + "-m a -m b --service-kind openai --request-count 3 --warmup-request-count 1 --input-data " + rows, []string{"a", "b"}, "b b a a"},
		{"Triton", quick + "-m other -m add_sub --request-count 4", []string{"other", "add_sub"}, "other add_sub other add_sub"},
		{"batches, over gRPC", quick + "-m other -m add_sub -i grpc -b 2 --request-count 4", []string{"other", "add_sub"}, "other add_sub other add_sub"},
	} {
		run, all, got := recordModels(t, tt.args)
		if d := cmp.Diff(tt.models, run.Meta.Models); d != "" {
			t.Errorf("%s: models of the run (-want +got):\n%s", tt.name, d)
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
		for i := range all {
			body, ok := all[i].Inputs.Get("payload")
			if want := fmt.Sprintf(`"model":%q`, got[i]); ok && got[i] != "" && !strings.Contains(string(body.Data), want) {
				t.Errorf("%s: request %d should have gone to %s, its body is %s", tt.name, all[i].ID, got[i], body.Data)
			}
		}
	}
}

// The same seed draws the same models, another one others.
func TestModelsDrawnBySeed(t *testing.T) {
	t.Parallel()
	draw := func(seed int) string {
		_, _, models := recordModels(t, fmt.Sprintf("-m a,b,c --model-selection-strategy random --random-seed %d --service-kind openai -u sim://?ttft=1ms&itl=1ms&output_tokens=2 --request-count 24 --concurrency-range 4", seed))
		return strings.Join(models, " ")
	}
	first := draw(7)
	for _, name := range []string{"a", "b", "c"} {
		if !strings.Contains(first, name) {
			t.Errorf("24 requests, none to %s: %s", name, first)
		}
	}
	if again := draw(7); again != first {
		t.Errorf("models %s, and with the same seed %s", first, again)
	}
	if other := draw(8); other == first {
		t.Errorf("models %s with either seed", first)
	}
}
