package report

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

func value(v int64) export.Int { return export.IntOf(v) }

func rows() []Row {
	return []Row{
		{Level: "concurrency:1", Load: "concurrency 1", ID: 0, StartNS: 1700000000000000000, TTFT: value(12_345_678), E2EL: value(1_234_567_890), Responses: 9, Events: 6, Tokens: value(7), Input: value(3), Status: "ok"},
		{Experiment: 1, Level: "request_rate:2.5", Load: "request rate 2.5", ID: 18446744073709551615, Status: "timeout", Excluded: "failed", Message: "after \"30 s\",\nsaid \x1b[31mthe server"},
	}
}

func TestRows(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(io.Writer) RowWriter
		want string
		none string // without rows
	}{
		{"table", func(w io.Writer) RowWriter { return RowsTable(w, 0, Groups{}) }, `level            id            start_ns  ttft_ms   e2el_ms tokens status message
concurrency 1     0 1700000000000000000   12.346  1234.568      7 ok     -
request rate 2.5 18446744073709551615                   0        -         -      - timeout after "30 s",\nsaid \x1b[31mthe server
`, ""},
		{"csv", func(w io.Writer) RowWriter { return RowsCSV(w, Groups{}) }, `experiment,level,id,start_ns,ttft_ns,e2el_ns,responses,token_events,input_tokens,output_tokens,status,excluded,message,model
0,concurrency:1,0,1700000000000000000,12345678,1234567890,9,6,3,7,ok,,,
1,request_rate:2.5,18446744073709551615,0,,,0,0,,,timeout,failed,"after ""30 s"",\nsaid \x1b[31mthe server",
`, "experiment,level,id,start_ns,ttft_ns,e2el_ns,responses,token_events,input_tokens,output_tokens,status,excluded,message,model\n"},
		{"jsonl", func(w io.Writer) RowWriter { return RowsJSON(w, Groups{}) }, `{"experiment":0,"level":"concurrency:1","id":0,"start_ns":1700000000000000000,"ttft_ns":12345678,"e2el_ns":1234567890,"responses":9,"token_events":6,"input_tokens":3,"output_tokens":7,"status":"ok"}
{"experiment":1,"level":"request_rate:2.5","id":18446744073709551615,"start_ns":0,"responses":0,"token_events":0,"status":"timeout","excluded":"failed","message":"after \"30 s\",\nsaid \u001b[31mthe server"}
`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			w := tt.make(&b)
			for _, r := range rows() {
				if err := w.Write(&r); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			b.Reset()
			if err := tt.make(&b).Flush(); err != nil || b.String() != tt.none {
				t.Errorf("without rows: %q, %v, want %q", b.String(), err, tt.none)
			}
			bad := tt.make(failingWriter{})
			r := rows()[0]
			if err := errors.Join(bad.Write(&r), bad.Flush()); !errors.Is(err, errFull) {
				t.Errorf("error %v, want %v", err, errFull)
			}
		})
	}
}

// The head of the table fits a terminal.
func TestRowsTableWidth(t *testing.T) {
	var b strings.Builder
	w := RowsTable(&b, 0, Groups{})
	if err := errors.Join(w.Write(&rows()[0]), w.Flush()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestRowOrder(t *testing.T) {
	list := []Row{{ID: 0, TTFT: value(30)}, {ID: 1}, {ID: 2, TTFT: value(10)}, {ID: 1 << 63, TTFT: value(20)}}
	for _, tt := range []struct {
		key        string
		descending bool
		want       []uint64
	}{
		{"ttft_ns", false, []uint64{2, 1 << 63, 0, 1}}, // absent values last
		{"ttft_ns", true, []uint64{0, 1 << 63, 2, 1}},  // either way
		{"id", false, []uint64{0, 1, 2, 1 << 63}},
		{"id", true, []uint64{1 << 63, 2, 1, 0}},
	} {
		order, ok := RowOrder(tt.key, tt.descending, Groups{})
		if !ok {
			t.Fatalf("no order by %s", tt.key)
		}
		x := slices.Clone(list)
		slices.SortStableFunc(x, func(a, b Row) int { return order(&a, &b) })
		var got []uint64
		for _, r := range x {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("by %s, descending %v: %v, want %v", tt.key, tt.descending, got, tt.want)
		}
	}
	for _, key := range SortKeys(Groups{}) {
		if _, ok := RowOrder(key, false, Groups{}); !ok {
			t.Errorf("RowOrder does not know %s", key)
		}
	}
	if got, want := strings.Join(SortKeys(Groups{}), " "), "id start_ns ttft_ns e2el_ns token_events input_tokens output_tokens"; got != want {
		t.Errorf("sort keys %s, want %s", got, want)
	}
	for _, name := range []string{"ttft", "TTFT_ms", "E2EL", "tokens", "start", "Output_Tokens"} {
		if _, ok := RowOrder(name, true, Groups{}); !ok {
			t.Errorf("RowOrder does not know %s", name)
		}
	}
	late := Row{Status: "ok", Excluded: "late"}
	if got := late.outcome(); got != "ok (late)" {
		t.Errorf("outcome %q", got)
	}
	if _, ok := RowOrder("status", false, Groups{}); ok {
		t.Error("RowOrder knows status, which is no number")
	}
}

func TestNewRow(t *testing.T) {
	e := &export.Experiment{Mode: "concurrency", Value: "8"}
	m := &answer.Measured{Excluded: "failed", Class: "rpc_error", Message: "gone"}
	r := &export.Request{ID: 7, StartNS: 5, Status: export.StatusOK, Responses: make([]export.Response, 2)}
	got := newRow(1, e, 3, r, m)
	want := Row{Experiment: 1, Level: "concurrency:8", Load: "concurrency 8", ID: 3, StartNS: 5, Responses: 2, Status: "rpc_error", Excluded: "failed", Message: "gone", TPOT: math.NaN()}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sessions := &export.Experiment{Mode: "request_rate", Value: "0.0", Meta: &export.ExperimentMeta{Load: "session concurrency 8"}}
	if got := newRow(1, sessions, 3, r, m).Level; got != "session_concurrency:8" {
		t.Errorf("the level of sessions is %q", got)
	}
	r.HasMeta = true // pa-record numbers its requests
	if got := newRow(1, e, 3, r, m).ID; got != 7 {
		t.Errorf("ID %d, want 7", got)
	}
}

// The table has the agent whatever the first row says.
func TestRowsOfAgents(t *testing.T) {
	var b strings.Builder
	w := RowsTable(&b, 0, Groups{Sessions: true})
	for _, r := range []Row{{Load: "c", Session: "s"}, {Load: "c", Session: "s", Agent: "below"}} {
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil || !strings.Contains(b.String(), " agent ") || !strings.Contains(b.String(), " below ") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// By hand: 7 tokens in 1.234567890 s are 5.67 a second, and 250 ns a token are four million; 30 of 40 input
// tokens were cached.
func TestRowGroups(t *testing.T) {
	row := Row{
		Level: "concurrency:1", Load: "concurrency 1", ID: 3, StartNS: 1_700_000_000_000_000_001, TTFT: export.IntOf(12_345_678), E2EL: export.IntOf(1_234_567_890),
		Tokens: export.IntOf(7), Input: export.IntOf(40), Status: "ok", TPOT: 250, Reasoning: export.IntOf(2), Cached: export.IntOf(30), Uncached: export.IntOf(10),
		Server: export.ServerDetails{Prefill: export.IntOf(1_500_000), Decode: export.IntOf(2), DraftSteps: export.Int{OK: true}, DecodeWorker: "w"},
		Audio:  answer.Audio{First: export.IntOf(20_000_000), Length: export.IntOf(4_938_271_560), Underruns: export.IntOf(3), UnderrunNS: export.IntOf(5)},
	}
	row.Waterfall.Parts[answer.SendPart], row.Waterfall.Parts[answer.RestPart] = export.IntOf(20_000), export.IntOf(-7)
	failed := Row{Level: "concurrency:1", Load: "concurrency 1", ID: 4, Status: "http_error", Excluded: "failed", TPOT: math.NaN(), Model: "m"}
	all := Groups{Economics: true, Prefix: true, Phases: true, Audio: true}
	for name, tt := range map[string]struct {
		make func(io.Writer) RowWriter
		want string
	}{
		"csv": {func(w io.Writer) RowWriter { return RowsCSV(w, all) }, `experiment,level,id,start_ns,ttft_ns,e2el_ns,responses,token_events,input_tokens,output_tokens,status,excluded,message,model,tpot_ns,output_tokens_per_s_per_user_decode,output_tokens_per_s_per_user_e2e,cached_tokens,uncached_input_tokens,hit_rate,server_queue_ns,server_prefill_ns,server_ttft_ns,server_decode_ns,server_e2e_ns,server_sent_ns,cached_local_tokens,cached_host_tokens,cached_storage_tokens,cached_external_tokens,draft_steps,draft_tokens,accepted_tokens,retractions,prefill_worker,decode_worker,ttft_wait_ns,ttft_connect_ns,ttft_send_ns,server_first_decode_ns,ttft_rest_ns,acceptance_length,first_audio_ns,audio_length_ns,real_time_factor,underruns,underrun_time_ns
0,concurrency:1,3,1700000000000000001,12345678,1234567890,0,0,40,7,ok,,,,250,4000000,5.670000051597001,30,10,0.75,,1500000,,2,,,,,,,0,,,,,w,,,20000,,-7,,20000000,4938271560,0.25,3,5
0,concurrency:1,4,0,,,0,0,,,http_error,failed,,m,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
`},
		"table": {func(w io.Writer) RowWriter { return RowsTable(w, 0, all) }, `level            id            start_ns  ttft_ms   e2el_ms tokens status  tpot_ms    tok/s cached uncached   queue_ms prefill_ms  decode_ms   rest_ms first_audio_ms   audio_ms    rtf underruns message
concurrency 1     3 1700000000000000001   12.346  1234.568      7 ok        0.000    5.670     30       10          -      1.500      0.000    -0.000         20.000   4938.272  0.250         3 -
concurrency 1     4                   0        -         -      - http_error        -        -      -        -          -          -          -         -              -          -      -         - -
`},
		"otel": {func(w io.Writer) RowWriter { return OTelRowsJSON(w, Groups{}) }, `{"pa.experiment":0,"pa.level":"concurrency:1","pa.id":3,"pa.start_ns":1700000000000000001,"gen_ai.response.time_to_first_chunk":0.012345678,"gen_ai.client.operation.duration":1.23456789,"pa.responses":0,"pa.token_events":0,"gen_ai.usage.input_tokens":40,"gen_ai.usage.output_tokens":7,"pa.status":"ok","gen_ai.usage.reasoning.output_tokens":2,"gen_ai.usage.cache_read.input_tokens":30}
{"pa.experiment":0,"pa.level":"concurrency:1","pa.id":4,"pa.start_ns":0,"pa.responses":0,"pa.token_events":0,"pa.status":"http_error","pa.excluded":"failed","gen_ai.request.model":"m","error.type":"http_error"}
`},
		"otel with groups": {func(w io.Writer) RowWriter { return OTelRowsJSON(w, all) }, `{"pa.experiment":0,"pa.level":"concurrency:1","pa.id":3,"pa.start_ns":1700000000000000001,"gen_ai.response.time_to_first_chunk":0.012345678,"gen_ai.client.operation.duration":1.23456789,"pa.responses":0,"pa.token_events":0,"gen_ai.usage.input_tokens":40,"gen_ai.usage.output_tokens":7,"pa.status":"ok","pa.tpot":0.00000025,"pa.output_tokens_per_s_per_user_decode":4000000,"pa.output_tokens_per_s_per_user_e2e":5.670000051597001,"gen_ai.usage.cache_read.input_tokens":30,"pa.uncached_input_tokens":10,"pa.hit_rate":0.75,"pa.server_prefill":0.0015,"pa.server_decode":0.000000002,"pa.draft_steps":0,"pa.decode_worker":"w","pa.ttft_send":0.00002,"pa.ttft_rest":-0.000000007,"pa.first_audio":0.02,"pa.audio_length":4.93827156,"pa.real_time_factor":0.25,"pa.underruns":3,"pa.underrun_time":0.000000005,"gen_ai.usage.reasoning.output_tokens":2}
{"pa.experiment":0,"pa.level":"concurrency:1","pa.id":4,"pa.start_ns":0,"pa.responses":0,"pa.token_events":0,"pa.status":"http_error","pa.excluded":"failed","gen_ai.request.model":"m","error.type":"http_error"}
`},
	} {
		var b strings.Builder
		w := tt.make(&b)
		for _, r := range []Row{row, failed} {
			if err := w.Write(&r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, key := range SortKeys(all) {
		order, ok := RowOrder(key, false, all)
		if !ok || order(&row, &row) != 0 {
			t.Errorf("no order by %s", key)
		}
	}
}
