package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// Triton's generate endpoints take prompts as they are, without a model's name, and
// their streams, which have no mark of their end, come whole. One that breaks off does
// not.
func TestGenerate(t *testing.T) {
	t.Parallel()
	srv, err := sim.Start(t.Context(), sim.Config{TTFT: plan.ConstantDelay(1e6), ITL: plan.ConstantDelay(1e6), OutputTokens: plan.ConstantLength(5)})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for _, tt := range []struct {
		args      string
		protocol  sim.Protocol
		responses int
		status    export.Status
	}{
		{"--endpoint v2/models/vllm/generate", sim.TritonGenerate, 1, export.StatusOK},
		{"--endpoint v2/models/vllm/generate_stream --streaming", sim.TritonGenerateStream, 5, export.StatusOK},
		{"--endpoint v2/models/vllm/versions/1/generate_stream --streaming --transport nethttp", sim.TritonGenerateStream, 5, export.StatusOK},
		{`--endpoint v2/models/vllm/generate_stream --streaming --extra-body {"sim_fault":"reset","sim_fault_after":2}`, sim.TritonGenerateStream, 2, export.StatusTruncated},
		{`--endpoint v2/models/vllm/generate_stream --streaming --extra-body {"fail_after":2}`, sim.TritonGenerateStream, 3, export.StatusRPCError},
	} {
		out := filepath.Join(t.TempDir(), "e.json")
		args := strings.Fields("--service-kind openai -m vllm --request-count 4 --quiet -u " + srv.TritonHTTPURL() + " --profile-export-file " + out + " " + tt.args)
		before := len(srv.Ledger())
		code, _, stderr := inProcess(t.Context(), t, args...)
		if (code == 0) != (tt.status == export.StatusOK) {
			t.Fatalf("%s: exit code %d:\n%s", tt.args, code, stderr)
		}
		if err := srv.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, e := range srv.Ledger()[before:] {
			if e.Protocol != tt.protocol || e.Model != "vllm" {
				t.Errorf("%s: the server got %s for model %q, want %s", tt.args, e.Protocol, e.Model, tt.protocol)
			}
		}
		_, requests := exporttest.Read(t, out)
		if len(requests) != 4 {
			t.Fatalf("%s: %d requests, want 4", tt.args, len(requests))
		}
		for _, r := range requests {
			if r.Status != tt.status || len(r.Responses) != tt.responses {
				t.Errorf("%s: %v (%s) with %d responses, want %v with %d", tt.args, r.Status, r.Message, len(r.Responses), tt.status, tt.responses)
			}
			if body, _ := r.Inputs.Get("payload"); strings.Contains(string(body.Data), `"model"`) || !strings.Contains(string(body.Data), `"text_input":`) {
				t.Errorf("%s: sent %s", tt.args, body.Data)
			}
		}
	}
}
