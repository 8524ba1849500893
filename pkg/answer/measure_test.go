package answer

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

// Responses arrive 10, 20, … ns after the start at 1000.
func TestMeasures(t *testing.T) {
	twoChoices := openaiRequest(
		"data: {\"choices\":[{\"index\":1,\"text\":\"x\"}]}\n\n", // 10
		"data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\n", // 20
		"data: {\"choices\":[{\"index\":0,\"text\":\"b\"}]}\n\n", // 30
		"data: {\"choices\":[{\"index\":0,\"text\":\"c\"}]}\n\n", // 40
		"data: {\"choices\":[{\"index\":1,\"text\":\"y\"}]}\n\n", // 50
		done,
	)
	backward := tensors(text("a"), text("b"), text("c"))
	backward.Responses[2].RecvNS = 1015
	for _, tt := range []struct {
		name string
		r    export.Request
		want Measures
		tpot float64 // 0: none
	}{
		{
			"chat with a role event and [DONE]", openaiRequest(role, delta("a"), delta("b"), delta("c"), finish, done),
			Measures{TTFT: export.IntOf(20), TTST: export.IntOf(10), E2EL: export.IntOf(60), Gaps: []int64{10, 10}, Events: 3, Spread: export.IntOf(20), OutputTokens: export.IntOf(3), TokenSource: TokenResponses},
			10,
		},
		{
			"usage counts tokens, events are chunks", openaiRequest(role, delta("a"), delta("b"), usage5, done),
			Measures{
				TTFT: export.IntOf(20), TTST: export.IntOf(10), E2EL: export.IntOf(50), Gaps: []int64{10}, Events: 2, Spread: export.IntOf(10),
				OutputTokens: export.IntOf(5), InputTokens: export.IntOf(9), ReasoningTokens: export.IntOf(2), CachedTokens: export.IntOf(8), TokenSource: TokenUsage,
				TimedTokens: export.IntOf(2), HiddenTokens: export.IntOf(2), // the stated reasoning was not sent
			},
			5,
		},
		{
			"reasoning", openaiRequest(role, thought, thought, delta("a"), done),
			Measures{TTFT: export.IntOf(20), TTFAT: export.IntOf(40), TTST: export.IntOf(10), E2EL: export.IntOf(50), Gaps: []int64{10, 10}, Events: 3, Spread: export.IntOf(20), OutputTokens: export.IntOf(3), TokenSource: TokenResponses},
			10,
		},
		{
			"reasoning without an answer", openaiRequest(thought, thought),
			Measures{TTFT: export.IntOf(10), TTST: export.IntOf(10), E2EL: export.IntOf(20), Gaps: []int64{10}, Events: 2, Spread: export.IntOf(10), OutputTokens: export.IntOf(2), TokenSource: TokenResponses},
			10,
		},
		{
			"two choices: gaps within each, second token of the first to begin", twoChoices,
			Measures{TTFT: export.IntOf(10), TTST: export.IntOf(40), E2EL: export.IntOf(60), Gaps: []int64{10, 10, 40}, Events: 5, Spread: export.IntOf(40), OutputTokens: export.IntOf(5), TokenSource: TokenResponses},
			10,
		},
		{
			"events of one read share its time", openaiRequest(role+delta("a")+delta("b"), delta("c")),
			Measures{TTFT: export.IntOf(10), TTST: export.IntOf(0), E2EL: export.IntOf(20), Gaps: []int64{0, 10}, Events: 3, Spread: export.IntOf(10), OutputTokens: export.IntOf(3), TokenSource: TokenResponses, SharedStamps: 1},
			5,
		},
		{
			"one token", tensors(text("a"), text("")),
			Measures{TTFT: export.IntOf(10), E2EL: export.IntOf(20), Events: 1, Spread: export.IntOf(0), OutputTokens: export.IntOf(1), TokenSource: TokenResponses},
			0,
		},
		{
			"a whole answer with usage has no pace", openaiRequest(`{"choices":[{"text":"a b c"}],"usage":{"prompt_tokens":1,"completion_tokens":3}}`),
			Measures{E2EL: export.IntOf(10), Events: 1, OutputTokens: export.IntOf(3), InputTokens: export.IntOf(1), TokenSource: TokenUsage},
			0,
		},
		{
			"no token", tensors(text("")),
			Measures{E2EL: export.IntOf(10)},
			0,
		},
		{
			"no response",
			export.Request{StartNS: 1000},
			Measures{OutputTokens: export.IntOf(0), TokenSource: TokenResponses},
			0,
		},
		{
			"the clock set back", backward,
			Measures{TTFT: export.IntOf(10), TTST: export.IntOf(10), E2EL: export.IntOf(20), Gaps: []int64{10}, Events: 3, Spread: export.IntOf(5), OutputTokens: export.IntOf(3), TokenSource: TokenResponses, Backward: 1, Wrong: []Wrong{{Quantity(ITL), 1, -5}}},
			2.5,
		},
		{
			"responses that are not in order end with the latest", at(1000, 1005, 1003),
			Measures{TTFT: export.IntOf(5), E2EL: export.IntOf(5), Events: 2, OutputTokens: export.IntOf(2), TokenSource: TokenResponses, Backward: 1, Wrong: []Wrong{{Quantity(TPOT), 1, -2}, {Quantity(ITL), 1, -2}}},
			0,
		},
		{
			"a damaged time", at(5, math.MaxUint64, 7),
			Measures{Events: 2, OutputTokens: export.IntOf(2), TokenSource: TokenResponses, Impossible: 3, EndWrong: true, Wrong: []Wrong{{Times, 1, -1}}},
			0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := NewMeter(&export.Run{}, Config{})
			for range 2 { // buffers are reused
				got := m.Measure(&tt.r)
				if diff := cmp.Diff(tt.want, got.Measures, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("measures (-want +got):\n%s", diff)
				}
				tpot, ok := got.TPOT()
				if ok != (tt.tpot != 0) || tpot != tt.tpot {
					t.Errorf("TPOT = %v, %v, want %v", tpot, ok, tt.tpot)
				}
			}
		})
	}
}

func TestFrom(t *testing.T) {
	r := tensors(text("a"))
	r.SentNS, r.IssuedNS, r.ScheduledNS = 1004, 990, 0
	for _, tt := range []struct {
		from string
		want export.Int
	}{{"start", export.IntOf(10)}, {"sent", export.IntOf(6)}, {"issued", export.IntOf(20)}, {"scheduled", export.Int{}}} {
		from, err := ParseFrom(tt.from)
		if err != nil || from.String() != tt.from {
			t.Fatalf("ParseFrom(%q) = %v, %v", tt.from, from, err)
		}
		m := NewMeter(&export.Run{}, Config{From: from, Streaming: &streamed})
		got := m.Measure(&r)
		if got.TTFT != tt.want || got.E2EL != tt.want {
			t.Errorf("from %s: TTFT %v, E2EL %v, want %v", tt.from, got.TTFT, got.E2EL, tt.want)
		}
	}
	if _, err := ParseFrom("end"); err == nil {
		t.Error(`ParseFrom("end") has no error`)
	}
}

func TestTokenSources(t *testing.T) {
	plain := openaiRequest(delta("a b "), delta("c d"))
	counted := openaiRequest(delta("a b "), delta("c d"), usage5)
	for _, tt := range []struct {
		name    string
		cfg     Config
		r       export.Request
		want    export.Int
		source  TokenSource
		refused bool
	}{
		{"the best: usage", Config{Counter: memrun.Words{}}, counted, export.IntOf(5), TokenUsage, false},
		{"then the tokenizer, over the joined text", Config{Counter: memrun.Words{}}, plain, export.IntOf(4), TokenTokenizer, false},
		{"then token events", Config{}, plain, export.IntOf(2), TokenResponses, false},
		{"usage asked for", Config{TokenSource: TokenUsage}, plain, export.Int{}, TokenAuto, false},
		{"responses asked for", Config{TokenSource: TokenResponses, Counter: memrun.Words{}}, counted, export.IntOf(2), TokenResponses, false},
		{"the tokenizer asked for", Config{TokenSource: TokenTokenizer, Counter: memrun.Words{}}, counted, export.IntOf(4), TokenTokenizer, false},
		{"one response is no count", Config{}, at(1000, 1010), export.Int{}, TokenAuto, false},
		{"nor if asked for", Config{TokenSource: TokenResponses}, openaiRequest(`{"choices":[{"text":"a b"}]}`), export.Int{}, TokenAuto, false},
		{"the text of a whole answer is", Config{Counter: memrun.Words{}}, openaiRequest(`{"choices":[{"text":"a b"}]}`), export.IntOf(2), TokenTokenizer, false},
		{"the tokenizer fails", Config{Counter: memrun.Words{}}, openaiRequest(delta("!")), export.Int{}, TokenAuto, true},
		{"no text to count", Config{Counter: memrun.Words{}, Streaming: &streamed}, at(1000, 1010), export.IntOf(1), TokenResponses, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := NewMeter(&export.Run{}, tt.cfg).Measure(&tt.r)
			if (got.NotCounted != nil) != tt.refused || got.OutputTokens != tt.want || got.TokenSource != tt.source {
				t.Errorf("%v from %v, %v, want %v from %v", got.OutputTokens, got.TokenSource, got.NotCounted, tt.want, tt.source)
			}
		})
	}
}

func TestStanding(t *testing.T) {
	failure := openaiRequest(delta("a"), "data: {\"error\":{\"message\":\"gone\"}}\n\n")
	known := failure
	known.HasMeta, known.Status, known.Phase = true, export.StatusOK, export.PhaseMeasured
	with := func(s export.Status, p export.Phase) export.Request {
		r := tensors(text("a"))
		r.HasMeta, r.Status, r.Phase, r.Message = true, s, p, "why"
		return r
	}
	for _, tt := range []struct {
		name   string
		r      export.Request
		warmup bool // counts
		reason export.Exclusion
		class  string
	}{
		{"nothing known", tensors(text("a")), false, "", ""},
		{"ok", with(export.StatusOK, export.PhaseMeasured), false, "", ""},
		{"timeout", with(export.StatusTimeout, export.PhaseMeasured), false, "failed", "timeout"},
		{"warm-up", with(export.StatusOK, export.PhaseWarmup), false, "warmup", ""},
		{"failed warm-up", with(export.StatusTimeout, export.PhaseWarmup), false, "warmup", ""},
		{"warm-up that counts", with(export.StatusOK, export.PhaseWarmup), true, "", ""},
		{"failed warm-up that counts", with(export.StatusTimeout, export.PhaseWarmup), true, "failed", "timeout"},
		{"late", with(export.StatusOK, export.PhaseCooldown), true, "late", ""},
		{"cancelled", with(export.StatusCancelled, export.PhaseMeasured), false, "cancelled", ""},
		{"an error after 200, perf_analyzer calls it success", failure, false, "failed", "rpc_error"},
		{"pa-record knows better", known, false, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := NewMeter(&export.Run{}, Config{IncludeWarmup: tt.warmup}).Measure(&tt.r)
			if got.Excluded != tt.reason || got.Class != tt.class || got.Counted != (tt.reason == "") {
				t.Errorf("excluded %q, class %q, counted %v, want %q, %q", got.Excluded, got.Class, got.Counted, tt.reason, tt.class)
			}
		})
	}
}

// A file that keeps the first and the last token of an answer has the only gap of an answer of two
// tokens. The gaps of such answers are no gaps of a level, so that they have no value.
func TestWithoutGaps(t *testing.T) {
	two := int64(2)
	for _, lacks := range []bool{false, true} {
		run := &export.Run{Meta: &export.RunMeta{Streaming: &streamed, Import: &export.Import{}}}
		if lacks {
			run.Meta.Import.Lacks = []export.Lack{{Part: export.PartGaps, Why: "first and last"}}
		}
		r := at(1000, 1010, 1030)
		r.Stated = &export.Stated{TokenEvents: &two, OutputTokens: &two}
		m := NewMeter(run, Config{}).Measure(&r)
		if m.TTST.OK == lacks || len(m.Gaps) > 0 == lacks || m.Events != 2 || m.TTFT.V != 10 {
			t.Errorf("gaps are lacking: %v: TTST %v, gaps %v, %d events, TTFT %v", lacks, m.TTST, m.Gaps, m.Events, m.TTFT)
		}
		if v, ok := m.TPOT(); !ok || v != 20 {
			t.Errorf("gaps are lacking: %v: TPOT %v, %v", lacks, v, ok)
		}
	}
}
