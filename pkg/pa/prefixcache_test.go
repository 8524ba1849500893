package pa_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/tokenizer"
)

// The prefix cache of the simulated server gives exactly the hits that the analysis finds possible in the export: the tokens in
// whole blocks without a limit, and the blocks of a limited cache. A thousand random sessions with forks, agents and joins are played, a
// request at a time, since the order of requests that overlap is known to the server alone.
func TestPossibleHitsAreTheServers(t *testing.T) {
	t.Parallel()
	const graphs = 50
	tok, err := tokenizer.Load(filepath.Join(golden.Root(t), "testdata", "tokenizers", "tok-llama"))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20 / testenv.Stride(5)) {
		rng := rand.New(rand.NewPCG(seed, 42))
		cache := sim.PrefixCache{BlockTokens: 1 + rng.IntN(6), PromptsOnly: rng.IntN(4) == 0}
		if seed%2 == 0 {
			cache.Tokens = int64(cache.BlockTokens * (10 + rng.IntN(150)))
		}
		t.Run(fmt.Sprintf("seed %d: %+v", seed, cache), func(t *testing.T) {
			t.Parallel()
			entries := randomSessions(rng, graphs)
			w := &words{ids: map[string]uint32{}}
			encode := w.encode
			if seed%4 > 1 {
				encode = tok.AppendEncode
			}
			got, cached := possibleAndServed(t, entries, cache, encode)
			if got.Why != "" || got.Known != entries.Len() || got.Stated != entries.Len() || got.Input != got.Possible.Prompt {
				t.Fatalf("%+v: want %d requests, all known and with cached tokens, and the server's number of input tokens", got, entries.Len())
			}
			if got.Possible.Limited != cached || got.Cached != cached {
				t.Errorf("%d tokens were possible, %d in blocks, %d in the limited cache; the server had %d by its ledger and %d by its answers", got.Possible.Longest, got.Possible.Blocks, got.Possible.Limited, cached, got.Cached)
			}
			if limited := got.Possible.Limited < got.Possible.Blocks; limited != (cache.Tokens > 0) || cached == 0 {
				t.Errorf("%+v shows nothing: %d tokens in a cache without limit, %d of them in a cache of %d", cache, got.Possible.Blocks, got.Possible.Limited, cache.Tokens)
			}
		})
	}
}

// possibleAndServed plays the sessions and returns what the analysis finds possible, and the cached tokens in the server's ledger.
func possibleAndServed(t *testing.T, entries sessionList, cache sim.PrefixCache, encode func([]uint32, string) []uint32) (possible figure.PossibleCache, cached int64) {
	t.Helper()
	srv, err := sim.Start(t.Context(), sim.Config{
		TTFT: plan.ConstantDelay(1), ITL: plan.ConstantDelay(1), OutputTokens: plan.Length{Kind: plan.Normal, Mean: 5, Stddev: 2}, Encode: encode, PrefixCache: &cache, LedgerTimesOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	b, err := openai.New(openai.Config{URL: srv.OpenAIURL(), Model: sim.DefaultModel, Streaming: true, ExtraBody: json.RawMessage(`{"stream_options":{"include_usage":true}}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var file bytes.Buffer
	if _, err := recorder.Run(t.Context(), recorder.Config{
		Backend: b, Entries: entries, Levels: []load.Level{load.SessionRequests{N: 1}}, Writer: profilejson.NewWriter(&file),
		Run: export.Run{ServiceKind: new("openai"), Meta: &export.RunMeta{Schema: export.Schema, Tool: "test"}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, e := range srv.Ledger() {
		if e.CachedTokens == nil {
			t.Fatalf("request %d has no cached tokens: %+v", e.Index, e)
		}
		cached += int64(*e.CachedTokens)
	}
	r, err := profilejson.NewReader(t.Context(), "run.json", bytes.NewReader(file.Bytes()), int64(file.Len()), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := analyze.Run(t.Context(), r, analyze.Config{Counter: counter(encode), Sessions: &figure.SessionsConfig{
		Encode:     func(dst []uint32, text []byte) ([]uint32, error) { return encode(dst, string(text)), nil },
		CacheBlock: cache.BlockTokens, CacheTokens: cache.Tokens, WithoutAnswers: cache.PromptsOnly,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return rep.Experiments[0].Sessions.Cache, cached
}

// A counter counts the tokens of an encoder.
type counter func(dst []uint32, text string) []uint32

// CountTokens implements answer.TokenCounter.
func (c counter) CountTokens(text []byte) (int, error) { return len(c(nil, string(text))), nil }

// words makes a token of each word, as the simulated server does by itself.
type words struct {
	mu  sync.Mutex
	ids map[string]uint32
}

func (w *words) encode(dst []uint32, text string) []uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	for word := range strings.FieldsSeq(text) {
		id, ok := w.ids[word]
		if !ok {
			id = uint32(len(w.ids))
			w.ids[word] = id
		}
		dst = append(dst, id)
	}
	return dst
}

// sessionList is a workload of sessions in memory.
type sessionList struct {
	workload.List
	sessions []workload.Session
}

// Sessions implements workload.Sessions.
func (s sessionList) Sessions() int { return len(s.sessions) }

// Outline implements workload.Sessions.
func (s sessionList) Outline(k int) workload.Outline { return s.sessions[k].Outline() }

// Open implements workload.Sessions.
func (s sessionList) Open(k int) (*workload.Session, error) { return &s.sessions[k], nil }

// randomSessions returns n sessions whose prompts often begin alike.
func randomSessions(rng *rand.Rand, n int) sessionList {
	var all sessionList
	text := func(most int) string {
		var b strings.Builder
		for range 1 + rng.IntN(most) {
			b.WriteString([]string{"a ", "b ", "c ", "\n", "time "}[rng.IntN(5)])
		}
		return b.String() + "."
	}
	system := []string{text(30), text(30), text(8)}
	for k := range n {
		s := workload.Session{ID: fmt.Sprint("s", k)}
		var entries []workload.Entry
		for i := range 1 + rng.IntN(8) {
			node := workload.Node{Continues: -1}
			if i > 0 && rng.IntN(4) > 0 { // a turn of an earlier conversation, or a fork of it
				node.Continues = rng.IntN(i)
				node.After = append(node.After, workload.Edge{From: node.Continues})
			}
			if i > 0 && rng.IntN(3) == 0 { // a join
				if from := rng.IntN(i); from != node.Continues {
					node.After = append(node.After, workload.Edge{From: from, Anchor: workload.Anchor(rng.IntN(3))})
				}
			}
			var messages []map[string]string
			if node.Continues < 0 && rng.IntN(4) > 0 {
				messages = append(messages, map[string]string{"role": "system", "content": system[rng.IntN(len(system))]})
			}
			messages = append(messages, map[string]string{"role": []string{"user", "tool"}[rng.IntN(2)], "content": text(12)})
			payload, err := json.Marshal([]any{map[string]any{"messages": messages}})
			if err != nil {
				panic(err) // texts only
			}
			entries = append(entries, workload.Entry{
				Step: i, Session: s.ID, Turn: i, Values: export.Fields{{Name: "payload", Value: export.JSON(string(payload))}},
			})
			s.Nodes = append(s.Nodes, node)
		}
		s.Entry = func(i int) (workload.Entry, error) { return entries[i], nil }
		all.List, all.sessions = append(all.List, entries...), append(all.sessions, s)
	}
	return all
}
