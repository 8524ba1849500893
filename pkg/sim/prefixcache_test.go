package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// A listCache is a prefix cache as simple as can be: the beginnings that it has, the most recently used last.
type listCache struct {
	block, most int
	has         []string
}

// beginnings returns the beginnings of words that are whole blocks.
func (c *listCache) beginnings(words []string) (all []string) {
	for n := c.block; n <= len(words); n += c.block {
		all = append(all, strings.Join(words[:n], " "))
	}
	return all
}

func (c *listCache) use(beginnings []string) {
	for _, b := range slices.Backward(beginnings) {
		c.has = append(slices.DeleteFunc(c.has, func(h string) bool { return h == b }), b)
	}
	if c.most > 0 && len(c.has) > c.most {
		c.has = slices.Clone(c.has[len(c.has)-c.most:])
	}
}

func (c *listCache) read(words []string) int {
	all := c.beginnings(words)
	n := 0
	for n < len(all) && slices.Contains(c.has, all[n]) {
		n++
	}
	c.use(all[:n])
	return n * c.block
}

// wordsOf returns the words of messages, the first of each message with the roles since the word before.
func wordsOf(messages []map[string]string) (words []string) {
	roles := ""
	for _, m := range messages {
		roles += m["role"] + ":"
		for i, w := range strings.Fields(m["content"]) {
			if i == 0 {
				w, roles = roles+w, ""
			}
			words = append(words, w)
		}
	}
	return words
}

// The cache has what a list of beginnings has, for random prompts that overlap in time.
func TestPrefixCacheBruteForce(t *testing.T) {
	t.Parallel()
	roles := []string{"system", "user", "assistant", "tool"}
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg := PrefixCache{BlockTokens: 1 + rng.IntN(4)}
		if rng.IntN(3) > 0 {
			cfg.Tokens = int64(cfg.BlockTokens * (1 + rng.IntN(30)))
			cfg.Tokens += int64(rng.IntN(cfg.BlockTokens)) // the rest of a block does not count
		}
		c := newPrefixCache(&cfg, nil)
		want := &listCache{block: cfg.BlockTokens, most: int(cfg.Tokens) / cfg.BlockTokens}
		var history [][]map[string]string
		var flying []func()
		for i := range 60 {
			var messages []map[string]string
			if len(history) > 0 && rng.IntN(4) > 0 {
				before := history[rng.IntN(len(history))]
				messages = slices.Clone(before[:rng.IntN(len(before)+1)])
			}
			for range 1 + rng.IntN(2) {
				var text []string
				for range rng.IntN(6) {
					text = append(text, string(rune('a'+rng.IntN(3))))
				}
				messages = append(messages, map[string]string{"role": roles[rng.IntN(len(roles))], "content": strings.Join(text, " ")})
			}
			body, err := json.Marshal(map[string]any{"messages": messages})
			if err != nil {
				t.Fatal(err)
			}
			var q openAIRequest
			if err := json.Unmarshal(body, &q); err != nil {
				t.Fatal(err)
			}
			p := c.prompts(&q, true)[0]
			if got, want := c.read(p), want.read(wordsOf(messages)); got != want {
				t.Fatalf("seed %d, request %d: %d tokens of %s, want %d", seed, i, got, body, want)
			}
			answer := map[string]string{"role": "assistant", "content": " b a c"[:2*rng.IntN(4)]}
			all := append(slices.Clone(messages), answer)
			history = append(history, all)
			flying = append(flying, func() {
				c.fill(p.answered(answer["content"]))
				want.use(want.beginnings(wordsOf(all)))
			})
			for len(flying) > 0 && rng.IntN(2) == 0 { // some requests end
				k := rng.IntN(len(flying))
				flying[k]()
				flying = slices.Delete(flying, k, k+1)
			}
		}
	}
}

// What a request reads from the cache is in its usage and in the ledger, and its first token comes earlier.
func TestPrefixCacheOfServer(t *testing.T) {
	t.Parallel()
	user := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	const eight = "one two three four five six seven eight"
	type ask struct {
		path, body string
		want       int // cached tokens
	}
	chat := func(want int, more string, messages ...string) ask {
		return ask{"/v1/chat/completions", `{"messages":[` + strings.Join(messages, ",") + `]` + more + `}`, want}
	}
	for _, tt := range []struct {
		name  string
		cache PrefixCache
		asks  []ask
	}{
		{"whole blocks", PrefixCache{BlockTokens: 4}, []ask{chat(0, "", user(eight)), chat(8, "", user(eight)), chat(4, "", user("one two three four five")), chat(0, "", user("one two three")), chat(0, "", user("two "+eight))}},
		{"roles, tools and other models tell texts apart", PrefixCache{BlockTokens: 4}, []ask{
			chat(0, "", user(eight)), chat(0, "", `{"role":"system","content":"`+eight+`"}`), chat(0, `,"tools":[{}]`, user(eight)), chat(8, `,"tools":[{}]`, user(eight)),
			chat(0, `,"model":"b"`, user(eight)), chat(0, "", `{"role":"user","tool_calls":[1],"content":"`+eight+`"}`), chat(0, "", user("one two"), user("three four five six seven eight")),
		}},
		{"an answer", PrefixCache{BlockTokens: 4}, []ask{chat(0, "", user(eight)), chat(16, "", user(eight), `{"role":"assistant","content":"ANSWER"}`, user("more"))}},
		{"prompts only", PrefixCache{BlockTokens: 4, PromptsOnly: true}, []ask{chat(0, "", user(eight)), chat(8, "", user(eight), `{"role":"assistant","content":"ANSWER"}`, user("more"))}},
		{"an answer that breaks off", PrefixCache{BlockTokens: 4}, []ask{
			chat(0, `,"stream":true,"sim_fault":"error_event","sim_fault_after":2`, user(eight)), chat(-1, `,"sim_fault":"http_500"`, user("nothing "+eight)),
			chat(8, "", user(eight)), chat(0, "", user("nothing "+eight)),
		}},
		{"a small cache keeps beginnings", PrefixCache{BlockTokens: 4, Tokens: 15, PromptsOnly: true}, []ask{chat(0, "", user(eight)), chat(0, "", user("x x x x")), chat(8, "", user(eight)), chat(0, "", user("y y y y")), chat(8, "", user(eight)), chat(0, "", user("x x x x"))}},
		{"completions", PrefixCache{BlockTokens: 2}, []ask{{"/v1/completions", `{"prompt":"a b c"}`, 0}, {"/v1/completions", `{"prompt":["a b d","a x"]}`, 2}, {"/v1/completions", `{"prompt":[1,2,3,4]}`, 0}, {"/v1/completions", `{"prompt":[[1,2,9],[1,2,3,4]]}`, 6}}},
		{"parts", PrefixCache{BlockTokens: 4}, []ask{chat(0, "", user(eight)), chat(8, "", `{"role":"user","content":[{"type":"text","text":"`+eight+`"},{"type":"image_url"}]}`), chat(0, "", `{"role":"user","content":[{"text":"one"},{"text":"two three four"}]}`)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := fast()
			c.TTFT, c.ITL, c.Models, c.PrefixCache = plan.ConstantDelay(1), plan.ConstantDelay(1), []string{"a", "b"}, &tt.cache
			s := start(t, c)
			first := ""
			for i, ask := range tt.asks {
				_, body, err := post(t, s.OpenAIURL()+ask.path, strings.ReplaceAll(ask.body, "ANSWER", first))
				if err != nil {
					t.Fatal(err)
				}
				e := last(t, s)
				if ask.want < 0 { // no slot, no look into the cache
					if e.CachedTokens != nil {
						t.Errorf("request %d: %d cached tokens in the ledger, want none", i, *e.CachedTokens)
					}
					continue
				}
				if e.CachedTokens == nil || *e.CachedTokens != ask.want {
					t.Errorf("request %d: cached tokens of the ledger: %v, want %d", i, e.CachedTokens, ask.want)
				}
				if e.End != EndOK {
					continue
				}
				var a struct {
					Choices []struct{ Message struct{ Content string } }
					Usage   struct {
						Details struct {
							Cached *int `json:"cached_tokens"`
						} `json:"prompt_tokens_details"`
					}
				}
				if err := json.Unmarshal(body, &a); err != nil || a.Usage.Details.Cached == nil || *a.Usage.Details.Cached != ask.want {
					t.Errorf("request %d: %v, usage of %s; want %d cached tokens", i, err, body, ask.want)
				}
				if i == 0 {
					first = a.Choices[0].Message.Content
				}
			}
		})
	}
}

// Only tokens that are not cached take time, and a server without a cache states none.
func TestPrefixCachePrefill(t *testing.T) {
	t.Parallel()
	c := fast()
	c.TTFT, c.PrefillPerToken, c.PrefixCache = plan.ConstantDelay(1), 2*time.Millisecond, &PrefixCache{BlockTokens: 4}
	s := start(t, c)
	body := `{"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"` + strings.Repeat("word ", 42) + `"}]}`
	for i := range 2 {
		_, answer, err := post(t, s.OpenAIURL()+"/v1/chat/completions", body)
		if err != nil || !strings.Contains(string(answer), fmt.Sprintf(`"usage":{"prompt_tokens":42,"total_tokens":50,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":%d}}`, 40*i)) {
			t.Errorf("%v, %s", err, answer)
		}
		e := last(t, s)
		if due := e.Writes[0].DueNS - e.StartedNS; due != uint64(84*time.Millisecond)+1-uint64(i)*uint64(80*time.Millisecond) {
			t.Errorf("request %d: the first token is due after %v", i, time.Duration(due))
		}
	}
	m := metricsOf(t, s.OpenAIURL())
	if q, h := m["vllm:prefix_cache_queries_total"], m["vllm:prefix_cache_hits_total"]; q != 84 || h != 40 {
		t.Errorf("%v tokens were looked up and %v were there, want 84 and 40", q, h)
	}
}
