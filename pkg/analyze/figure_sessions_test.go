package analyze

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// A turn is a request of a session in a test. Times are ns; tokens come at begin + first, and at end. It asks history, and is
// answered with answer.
type turn struct {
	session, agent, parent string
	depth, turn            int
	begin, first, end      uint64
	history, answer        string
	cached                 int // −1: not stated
	status                 export.Status
	asked                  int // output tokens, with ignore_eos; 0: no number
	phase                  export.Phase
}

// words appends a token for each word of a text.
func words(dst []uint32, text []byte) ([]uint32, error) {
	for word := range bytes.FieldsSeq(text) {
		h := fnv.New32a()
		h.Write(word)
		dst = append(dst, h.Sum32())
	}
	return dst, nil
}

// wordsConfig asks for the figures of sessions, with words as tokens.
func wordsConfig(block int, size int64) Config {
	return Config{Counter: memrun.Words{}, Sessions: &figure.SessionsConfig{Encode: words, CacheBlock: block, CacheTokens: size}}
}

// request returns the request of a turn. Its history is messages of user and assistant in turn, separated by "|".
func (x turn) request(id uint64) export.Request {
	var messages []string
	input := 0
	for i, text := range strings.Split(x.history, "|") {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		messages = append(messages, fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
		input += len(strings.Fields(text))
	}
	limit := ""
	if x.asked > 0 {
		limit = fmt.Sprintf(`,"max_tokens":%d,"ignore_eos":true`, x.asked)
	}
	half := len(x.answer) / 2
	details := ""
	if x.cached >= 0 {
		details = fmt.Sprintf(`,"prompt_tokens_details":{"cached_tokens":%d}`, x.cached)
	}
	q := memrun.OpenAI(memrun.Delta(x.answer[:half]), memrun.Delta(x.answer[half:]),
		fmt.Sprintf("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d%s}}\n\n", input, len(strings.Fields(x.answer)), details), memrun.Done)
	q.ID, q.HasMeta, q.Status, q.Phase = id, true, export.StatusOK, export.PhaseMeasured
	if x.phase != 0 {
		q.Phase = x.phase
	}
	q.StartNS = x.begin
	for i := range q.Responses {
		q.Responses[i].RecvNS = x.end
	}
	q.Responses[0].RecvNS = x.begin + x.first
	q.SessionID, q.Turn, q.Agent, q.ParentAgent, q.Depth = x.session, x.turn, x.agent, x.parent, x.depth
	q.Inputs = export.Fields{{Name: "payload", Value: export.Value{Text: true, Data: fmt.Appendf(nil, `{"model":"m","messages":[%s]%s}`, strings.Join(messages, ","), limit)}}}
	if x.status != 0 && x.status != export.StatusOK {
		q.Status, q.FailedNS, q.Responses = x.status, x.end, nil
	}
	return q
}

func sessionRun(all ...turn) *memrun.Reader {
	var requests []export.Request
	for i, x := range all {
		requests = append(requests, x.request(uint64(i+1)))
	}
	return memrun.New("openai", requests)
}

// sessionsOf returns the figures of sessions of a run of one level.
func sessionsOf(t *testing.T, r export.Reader, cfg Config) *figure.Sessions {
	t.Helper()
	rep, err := Run(t.Context(), r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if p := rep.Experiments[0].Problem; p != nil {
		t.Fatal(p)
	}
	return rep.Experiments[0].Sessions
}

// tree is an agent with two sub-agents, the second with one of its own, then a conversation, and a single request.
func tree() []turn {
	return []turn{
		{session: "s", turn: 0, begin: 1000, first: 10, end: 1100, history: "a b c", answer: "d e", cached: 0, asked: 2},
		{session: "s", agent: "x", depth: 1, turn: 1, begin: 1200, first: 20, end: 1400, history: "a b x", answer: "p q r", cached: 0, asked: 5},
		{session: "s", agent: "y", depth: 1, turn: 2, begin: 1300, first: 30, end: 1350, history: "y", answer: "y y", cached: 0, asked: 2},
		{session: "s", agent: "z", parent: "y", depth: 2, turn: 3, begin: 1400, first: 40, end: 1600, history: "z", answer: "z z", cached: 0, asked: 2},
		{session: "s", turn: 4, begin: 2000, first: 50, end: 2200, history: "a b c|d e|f", answer: "g h", cached: 5, asked: 2},
		{session: "t", turn: 0, begin: 1500, first: 60, end: 1700, history: "a b c", answer: "k l", cached: 3},
		{begin: 1100, first: 5, end: 1200, history: "o o", answer: "o o", cached: -1},
	}
}

// By hand. Job of s: 1000 to 2200. Its requests are in flight in 1000–1100, 1200–1600 and 2000–2200: 700; their times are
// 100 + 200 + 50 + 200 + 200 = 750, their TTFTs 150. t takes 200, all of it in flight, and has a TTFT of 60. The
// rates are of 1200 ns.
func TestSessionsByHand(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"as they come": func(*Config) {},
		"kept":         func(c *Config) { c.Series = true },
	} {
		cfg := wordsConfig(1, 0)
		cfg.Sessions.GPUs = 4
		change(&cfg)
		r := sessionRun(tree()...)
		if name == "kept" {
			slices.Reverse(r.Requests[0])
		}
		s := sessionsOf(t, r, cfg)
		if got := [...]int{s.Requests, s.Single, s.Finished, s.Failed, s.Cut, s.Outside, s.GPUs}; got != [...]int{6, 1, 2, 0, 0, 0, 4} {
			t.Errorf("%s: %v", name, got)
		}
		// s: requests of the asked length take 10 + 90, 30 + 20, 40 + 160, 50 + 150; the one of three tokens of five
		// 20 + 180·4/2. t asks for no length.
		for key, want := range map[string]float64{
			figure.KeyJobsPerHour: 3600e9 * 2 / 1200, figure.KeyJobsPerHourUser: 3600e9 / 700, figure.KeyJobsPerHourGPU: 3600e9 * 2 / 1200 / 4,
			figure.KeyJobTime: (1200 + 200) / 2, figure.KeyModelTime: (700 + 200) / 2, figure.KeyToolTime: 500.0 / 2, figure.KeyServerWait: (150 + 60) / 2,
			figure.KeyNormalizedTime: 100 + 50 + 200 + 200 + 380, figure.KeySessionsInFlight: (1200 + 200) / 1200.0,
		} {
			if f := s.Figure(key); f.Why != "" || math.Abs(f.Value-want) > 1e-9*want {
				t.Errorf("%s: %s is %v (%s), want %v", name, key, f.Value, f.Why, want)
			}
		}
		want := []string{
			"0: job_time_ns 1400 model_time_ns 900 tool_time_ns 500 request_time_ns 950 server_wait_ns 210 normalized_model_time_ns 930 session_turns 6 session_input_tokens 17 session_output_tokens 13",
			"1: job_time_ns 500 model_time_ns 450 tool_time_ns 50 request_time_ns 450 server_wait_ns 90 normalized_model_time_ns 630 session_turns 3 session_input_tokens 5 session_output_tokens 7",
			"2: job_time_ns 200 model_time_ns 200 tool_time_ns 0 request_time_ns 200 server_wait_ns 40 normalized_model_time_ns 200 session_turns 1 session_input_tokens 1 session_output_tokens 2",
		}
		var got []string
		for _, d := range s.Depths {
			line := fmt.Sprintf("%d:", d.Depth)
			for _, v := range d.Values {
				line += fmt.Sprintf(" %s %.0f", v.Key, v.Mean*float64(v.N))
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: depths (-want +got):\n%s", name, diff)
		}
		var turns []string
		for _, x := range s.Turns {
			line := fmt.Sprintf("%d–%d n %d:", x.From, x.To, x.N)
			for _, v := range x.Values {
				line += fmt.Sprintf(" %s %.0f", v.Key, v.Mean*float64(v.N))
			}
			turns = append(turns, line)
		}
		if diff := cmp.Diff([]string{
			"0–0 n 2: ttft_ns 70 itl_ns 230 input_tokens 6 cached_tokens 3 uncached_input_tokens 3 output_tokens 4",
			"1–1 n 1: ttft_ns 20 itl_ns 180 input_tokens 3 cached_tokens 0 uncached_input_tokens 3 output_tokens 3",
			"2–2 n 1: ttft_ns 30 itl_ns 20 input_tokens 1 cached_tokens 0 uncached_input_tokens 1 output_tokens 2",
			"3–3 n 1: ttft_ns 40 itl_ns 160 input_tokens 1 cached_tokens 0 uncached_input_tokens 1 output_tokens 2",
			"4–4 n 1: ttft_ns 50 itl_ns 150 input_tokens 6 cached_tokens 5 uncached_input_tokens 1 output_tokens 2",
		}, turns); diff != "" {
			t.Errorf("%s: turns (-want +got):\n%s", name, diff)
		}
		if s.InFlight.Most != 2 || len(s.List) != 2 || s.List[0].ID != "s" || s.List[0].Agents != 4 || s.List[0].Depth != 2 {
			t.Errorf("%s: %+v, %+v", name, s.InFlight, s.List)
		}
	}
}

// By hand, with blocks of one token: x shares "a b" with the first request, t shares "a b c", and turn 4 "a b c d e". Nothing
// else shares a beginning. In blocks of 2, these are 2, 2 and 4.
func TestSessionsPossibleHits(t *testing.T) {
	const prompts = 3 + 3 + 1 + 1 + 6 + 3 + 2
	for _, tt := range []struct {
		name string
		cfg  Config
		want figure.PossibleTokens
	}{
		{"tokens", wordsConfig(1, 0), figure.PossibleTokens{Prompt: prompts, Longest: 10, Blocks: 10, Limited: 10}},
		{"blocks", wordsConfig(2, 0), figure.PossibleTokens{Prompt: prompts, Longest: 10, Blocks: 8, Limited: 8}},
		{"a cache of two tokens: only t and turn 4 come when the latest end left a b", wordsConfig(1, 2), figure.PossibleTokens{Prompt: prompts, Longest: 10, Blocks: 10, Limited: 4}},
		{"prompts only", func() Config {
			c := wordsConfig(1, 0)
			c.Sessions.WithoutAnswers = true
			return c
		}(), figure.PossibleTokens{Prompt: prompts, Longest: 8, Blocks: 8, Limited: 8}},
	} {
		s := sessionsOf(t, sessionRun(tree()...), tt.cfg)
		if s.Cache.Possible != tt.want || s.Cache.Known != 7 || s.Cache.Stated != 6 || s.Cache.Cached != 8 || s.Cache.Input != prompts-2 {
			t.Errorf("%s: %+v, want %+v", tt.name, s.Cache, tt.want)
		}
		rate := s.Figure(figure.KeyPossibleHitRate).Value
		gap := s.Figure(figure.KeyHitRateGap).Value
		if math.Abs(rate-float64(tt.want.Longest)/prompts) > 1e-12 || math.Abs(gap-(float64(tt.want.Longest)-8)/(prompts-2)) > 1e-12 {
			t.Errorf("%s: %v and a gap of %v", tt.name, rate, gap)
		}
		sum := 0.0
		for _, p := range s.Cache.Gap() {
			sum += p.Share
		}
		if math.Abs(sum-gap) > 1e-12 {
			t.Errorf("%s: the parts of the gap are %v in all, want %v", tt.name, sum, gap)
		}
	}
}

// A session counts where it ends with a success in the part that is reported.
func TestSessionStates(t *testing.T) {
	ok := func(session string, turn int, begin, end uint64) turn2 { return turn2{session, turn, begin, end, 0} }
	for _, tt := range []struct {
		name string
		all  []turn2
		cfg  Config
		want string
	}{
		{"all end", []turn2{ok("a", 0, 1e9, 2e9), ok("a", 1, 3e9, 4e9), ok("b", 0, 1e9, 4e9)}, Config{}, "2 finished"},
		{"the last turn fails", []turn2{ok("a", 0, 1e9, 2e9), {"a", 1, 3e9, 4e9, export.StatusHTTPError}, ok("b", 0, 1e9, 5e9)}, Config{}, "1 finished, 1 failed"},
		{"a turn fails, and the session goes on", []turn2{{"a", 0, 1e9, 2e9, export.StatusHTTPError}, ok("a", 1, 3e9, 4e9), ok("b", 0, 1e9, 2e9)}, Config{}, "2 finished"},
		{"the run ends during a turn", []turn2{ok("a", 0, 1e9, 2e9), {"a", 1, 3e9, 4e9, export.StatusCancelled}}, Config{}, "0 finished, 1 cut by the end"},
		{"played twice", []turn2{ok("a", 0, 1e9, 2e9), ok("a", 1, 3e9, 4e9), ok("a", 0, 5e9, 6e9), ok("a", 1, 7e9, 8e9)}, Config{}, "2 finished"},
		{
			"a part",
			[]turn2{ok("a", 0, 1e9, 2e9), ok("b", 0, 1e9, 5e9), ok("c", 0, 4e9, 6e9), ok("d", 0, 5e9, 9e9), ok("e", 0, 1e9, 1e10)},
			Config{Selection: Selection{Window: &Interval{From: 2e9, To: 7e9}}},
			"2 finished, 2 cut by the end, 1 ended before; 1 of the finished ones began before the measured time",
		},
	} {
		var all []turn
		for _, x := range tt.all {
			all = append(all, turn{session: x.session, turn: x.turn, begin: x.begin, first: 1, end: x.end, history: "a", answer: "b c", cached: -1, status: x.status})
		}
		tt.cfg.Sessions = &figure.SessionsConfig{}
		if got := sessionsOf(t, sessionRun(all...), tt.cfg).Ended(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

type turn2 struct {
	session    string
	turn       int
	begin, end uint64
	status     export.Status
}

// A figure without a value says why.
func TestSessionsWithout(t *testing.T) {
	single := []turn{{begin: 1000, first: 5, end: 1200, history: "o o", answer: "o o", cached: -1}}
	noTokens := Config{Sessions: &figure.SessionsConfig{}}
	for _, tt := range []struct {
		name string
		run  *memrun.Reader
		cfg  Config
		key  string
		want string
	}{
		{"no sessions", sessionRun(single...), noTokens, figure.KeyJobsPerHour, "no request names a session (session_id)"},
		{"no sessions", sessionRun(single...), noTokens, figure.KeyJobTime, "no request names a session (session_id)"},
		{"no tokenizer", sessionRun(tree()...), noTokens, figure.KeyPossibleHitRate, "the tokens of the prompts are not known: --tokenizer"},
		{"no GPUs", sessionRun(tree()...), noTokens, figure.KeyJobsPerHourGPU, "the number of GPUs is not known: --gpus"},
		{"no cached tokens", sessionRun(single...), wordsConfig(16, 0), figure.KeyHitRateGap, "no answer to a request with a known prompt states cached tokens"},
		{"no asked length", sessionRun(tree()[5]), noTokens, figure.KeyNormalizedTime, "the requests do not say how long the recorded answers were (max_tokens with ignore_eos, or min_tokens)"},
		{"no prompts", withoutInputs(sessionRun(tree()...)), wordsConfig(16, 0), figure.KeyPossibleHitRate, "the file holds no prompts"},
		{"none finished", sessionRun(tree()[0], turn{session: "s", turn: 1, begin: 2000, end: 2100, history: "a", status: export.StatusTimeout}), noTokens, figure.KeyJobTime, "no session finished"},
	} {
		if f := sessionsOf(t, tt.run, tt.cfg).Figure(tt.key); f.Why != tt.want || f.Value != 0 {
			t.Errorf("%s: %s is %v (%s), want %q", tt.name, tt.key, f.Value, f.Why, tt.want)
		}
	}
}

func withoutInputs(r *memrun.Reader) *memrun.Reader {
	for i := range r.Requests[0] {
		r.Requests[0][i].Inputs = nil
	}
	return r
}

// Sessions that were between two requests when the run ended look finished; the recorder's count says how many.
func TestSessionsCutBetweenRequests(t *testing.T) {
	r := sessionRun(tree()...)
	r.Header.Experiments[0].Meta = &export.ExperimentMeta{Sessions: &export.SessionCounts{Begun: 2, Completed: 1, Cut: 1}}
	s := sessionsOf(t, r, Config{Sessions: &figure.SessionsConfig{}})
	if want := "2 finished; by the recorder's count the end of the run cut 1 of the finished ones between two requests"; s.Ended() != want || s.Figure(figure.KeyJobsPerHour).Value != 3600e9/1200 {
		t.Errorf("%q, %v jobs per hour", s.Ended(), s.Figure(figure.KeyJobsPerHour).Value)
	}
	part := sessionsOf(t, r, Config{Sessions: &figure.SessionsConfig{}, Selection: Selection{Window: &Interval{To: 1e9}}})
	if part.Unfinished != 0 {
		t.Errorf("%+v", part)
	}
}

// Agents that a damaged file puts below each other, or at a great depth, end in a report.
func TestSessionsOfDamagedAgents(t *testing.T) {
	all := []turn{
		{session: "s", begin: 1000, first: 1, end: 1010, history: "a", answer: "b c", cached: -1},
		{session: "s", agent: "x", parent: "y", depth: 1, turn: 1, begin: 1020, first: 1, end: 1030, history: "a", answer: "b c", cached: -1},
		{session: "s", agent: "y", parent: "x", depth: 1, turn: 2, begin: 1040, first: 1, end: 1050, history: "a", answer: "b c", cached: -1},
		{session: "s", agent: "z", parent: "z", depth: 1 << 40, turn: 1 << 40, begin: 1060, first: 1, end: 1070, history: "a", answer: "b c", cached: -1},
	}
	s := sessionsOf(t, sessionRun(all...), wordsConfig(1, 0))
	var got []string
	for _, d := range s.Depths {
		got = append(got, fmt.Sprintf("%d: %d of %.0f turns", d.Depth, d.N, d.Values.Value("session_turns").Mean))
	}
	if diff := cmp.Diff([]string{"0: 1 of 4 turns", "1: 2 of 1 turns", "64: 1 of 1 turns"}, got); diff != "" {
		t.Errorf("depths (-want +got):\n%s", diff)
	}
}

// Levels of a run share a cache, and warm-up requests fill it.
func TestSessionsCacheOfAllLevels(t *testing.T) {
	one := turn{begin: 1000, first: 5, end: 1200, history: "a b c", answer: "o o", cached: -1, phase: export.PhaseWarmup}.request(1)
	two := turn{begin: 1300, first: 5, end: 1400, history: "a b x", answer: "o o", cached: -1}.request(2)
	three := turn{begin: 2000, first: 5, end: 2200, history: "a b x", answer: "o o", cached: -1}.request(3)
	rep, err := Run(t.Context(), memrun.New("openai", []export.Request{three}, []export.Request{one, two}), wordsConfig(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{3, 2} {
		if got := rep.Experiments[i].Sessions.Cache.Possible.Longest; got != want {
			t.Errorf("level %d: %d tokens, want %d", i, got, want)
		}
	}
}

// The prompts may not take more memory than the limit allows.
func TestSessionsPromptsTooLarge(t *testing.T) {
	cfg := wordsConfig(1, 0)
	cfg.MemoryLimit = 64 // bytes: 8 tokens
	if f := sessionsOf(t, sessionRun(tree()...), cfg).Figure(figure.KeyPossibleHitRate); f.Why != "the prompts hold too many different tokens for --memory-limit" {
		t.Errorf("%+v", f)
	}
}
