package sim

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

func TestParseAddress(t *testing.T) {
	load := func(path string) (func([]uint32, string) []uint32, error) {
		return nil, errors.New(path + " is missing")
	}
	for _, tt := range []struct {
		query string
		want  Config
		err   string // part of it; "" for none
	}{
		{"", Config{}, ""},
		{"?", Config{}, ""},
		{"?ttft=20ms&seed=7&max_concurrency=3", Config{TTFT: plan.ConstantDelay(20 * time.Millisecond), Seed: 7, MaxConcurrency: 3}, ""},
		{"?prefix_cache=true", Config{PrefixCache: &PrefixCache{}}, ""},
		{"?prefix_cache=true&cache_tokens=32&cache_block=4", Config{PrefixCache: &PrefixCache{Tokens: 32, BlockTokens: 4}}, ""},
		{"?cache_prompts_only=true", Config{PrefixCache: &PrefixCache{PromptsOnly: true}}, ""},
		{"?prefix_cache=false", Config{}, ""},
		{"?prefix_cache=false&cache_tokens=32", Config{}, "sim://?prefix_cache=false&cache_tokens=32: prefix_cache=false and cache_tokens exclude each other: the second turns the prefix cache on; drop one"},
		{"?cache_block=4&prefix_cache=0", Config{}, "prefix_cache=0 and cache_block exclude each other"},
		{"?cache_prompts_only=true&prefix_cache=false", Config{}, "prefix_cache=false and cache_prompts_only exclude each other"},
		{"?prefix_cache=true&prefix_cache=false", Config{}, "prefix_cache=false and prefix_cache exclude each other"},
		{"?prefix_cache=maybe", Config{}, `prefix_cache: "maybe" is not true or false`},
		{"?cache_tokens=many", Config{}, `cache_tokens: "many" is not a whole number`},
		{"?seed=-1", Config{}, `seed: "-1" is not a whole number that is not negative`},
		{"?tokenizer=x.json", Config{}, "tokenizer: x.json is missing"},
		{"?speed=3&color=red", Config{}, `unknown setting "color" of the simulated server; it has ttft, `},
		{"host?seed=1", Config{}, "sim://host?seed=1: a simulated server has no address; write sim://"},
		{"?seed=%zz", Config{}, "invalid URL escape"},
	} {
		cfg, err := ParseAddress("sim://"+tt.query, load)
		switch {
		case tt.err == "" && err != nil:
			t.Errorf("%q: %v", tt.query, err)
		case tt.err == "":
			if d := cmp.Diff(tt.want, cfg, cmp.AllowUnexported(plan.Delay{}, plan.Length{})); d != "" {
				t.Errorf("%q (-want +got):\n%s", tt.query, d)
			}
		case err == nil || !strings.Contains(err.Error(), tt.err):
			t.Errorf("%q: error %v, want %s", tt.query, err, tt.err)
		}
	}
}
