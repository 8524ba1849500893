package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/export"
)

// What the server states reaches the measures from the answer, from derived values, and from packed measures.
func TestServerDetails(t *testing.T) {
	piece := func(ns uint64, body string) export.Response {
		return export.Response{RecvNS: ns, Outputs: export.Fields{{Name: httpOutput, Value: export.Text("data: " + body + "\n\n")}}}
	}
	r := &export.Request{StartNS: 1 << 60, Responses: []export.Response{
		piece(1<<60+10, `{"choices":[{"index":0,"text":"a"}],"nvext":{"worker_id":{"prefill_worker_id":1,"decode_worker_id":"w"}}}`),
		piece(1<<60+20, `{"choices":[{"index":0,"text":"b","finish_reason":"stop"}]}`),
		piece(1<<60+30, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2},"metrics":{"queue_time_ms":0.5,"time_to_first_token_ms":1,"generation_time_ms":0.25,"speculative_decoding":{"num_spec_steps":0}}}`),
	}}
	want := export.ServerDetails{Queue: export.IntOf(500_000), Prefill: export.IntOf(1_000_000), TTFT: export.IntOf(1_500_000), Decode: export.IntOf(250_000), DraftSteps: export.IntOf(0), PrefillWorker: "1", DecodeWorker: "w"}
	run := &export.Run{}
	d := *NewDeriver(run).Derive(r)
	m := NewMeter(run, Config{}).Measure(r)
	stored := NewMeter(run, Config{}).MeasureDerived(r, &d)
	var p spool.Packer
	m.Pack(&p, r.StartNS)
	var unpacked Measured
	unpacked.Unpack(&spool.Unpacker{Bytes: p.Bytes}, r.StartNS)
	for name, got := range map[string]export.ServerDetails{"derived": d.Server, "measured": m.Server, "stored": stored.Server, "unpacked": unpacked.Server} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := m.Value(ServerTTFT); got != export.IntOf(1_500_000) {
		t.Errorf("%v is %+v", ServerTTFT, got)
	}
}
