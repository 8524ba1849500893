package promptcache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// letters counts each letter of a text as a token.
func letters(dst []uint32, text []byte) ([]uint32, error) {
	for _, b := range text {
		if b == '!' {
			return nil, errors.New("no letter")
		}
		dst = append(dst, uint32(b))
	}
	return dst, nil
}

// A said is a part of a prompt, with its role.
type said struct{ role, text string }

// A sent is a request of a test.
type sent struct {
	start, end     uint64
	prompt, answer []said
	nothing        bool // leaves nothing in the cache
}

// node returns the node at the end of parts after a node.
func (c *Cache) node(t *testing.T, from int32, all []said) int32 {
	t.Helper()
	for _, s := range all {
		p, err := c.Part(c.Mark(0, []byte(s.role)), []byte(s.text))
		if err != nil || p.Tokens != len(s.text) {
			t.Fatalf("%q: %+v, %v", s.text, p, err)
		}
		from = c.Path(from, p.ID)
	}
	return from
}

func hitsOf(t *testing.T, all []sent, block int, size int64) []Hit {
	t.Helper()
	c := New(Config{Encode: letters})
	var requests []Request
	for _, s := range all {
		r := Request{StartNS: s.start, EndNS: s.end, Prompt: c.node(t, Root, s.prompt)}
		if !s.nothing {
			r.Filled = c.node(t, r.Prompt, s.answer)
		}
		requests = append(requests, r)
	}
	return c.Hits(requests, block, size)
}

func TestHitsByHand(t *testing.T) {
	user := func(text string) []said { return []said{{"user", text}} }
	for _, tt := range []struct {
		name  string
		sent  []sent
		block int
		size  int64
		want  []Hit
	}{
		{"one after the other", []sent{{0, 10, user("abcdef"), nil, false}, {10, 20, user("abcxyz"), nil, false}}, 2, 0, []Hit{{}, {3, 2, 2}}},
		{"the first has not ended", []sent{{0, 10, user("abcd"), nil, false}, {9, 20, user("abcd"), nil, false}}, 2, 0, []Hit{{}, {}}},
		{"no time at all", []sent{{5, 5, user("abcd"), nil, false}, {5, 9, user("abcd"), nil, false}, {6, 9, user("abcd"), nil, false}}, 1, 0, []Hit{{}, {}, {4, 4, 4}}},
		{"an answer comes back as history", []sent{
			{0, 1, user("abc"), []said{{"assistant", "xy"}}, false}, {2, 3, []said{{"user", "abc"}, {"assistant", "xy"}, {"user", "d"}}, nil, false},
		}, 1, 0, []Hit{{}, {5, 5, 5}}},
		{"another role", []sent{{0, 1, user("abc"), nil, false}, {2, 3, []said{{"system", "abc"}}, nil, false}}, 1, 0, []Hit{{}, {}}},
		{"a failed request leaves nothing", []sent{{0, 1, user("abc"), nil, true}, {2, 3, user("abc"), nil, false}}, 1, 0, []Hit{{}, {}}},
		{"a beginning within a part", []sent{
			{0, 1, user("abcd"), nil, false}, {2, 3, user("abxy"), nil, false}, {4, 5, user("ab"), nil, false}, {6, 7, user("abxz"), nil, false},
		}, 1, 0, []Hit{{}, {2, 2, 2}, {2, 2, 2}, {3, 3, 3}}},
		{"the least recently used block leaves", []sent{
			{0, 1, user("aabb"), nil, false}, {2, 3, user("cc"), nil, false}, {4, 5, user("aa"), nil, false}, {6, 7, user("dddd"), nil, false}, {8, 9, user("aabb"), nil, false}, {10, 11, user("cc"), nil, false},
		}, 2, 6, []Hit{{}, {}, {2, 2, 2}, {}, {4, 4, 2}, {2, 2, 0}}},
		{"a prompt that is longer than the cache keeps its beginning", []sent{{0, 1, user("abcdef"), nil, false}, {2, 3, user("abcdef"), nil, false}}, 1, 4, []Hit{{}, {6, 6, 4}}},
	} {
		if got := hitsOf(t, tt.sent, tt.block, tt.size); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A list of all beginnings that were left, and a list of blocks in the order of their use, give the same hits.
func TestHitsByBruteForce(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 42))
		all := random(rng)
		block, size := 1+rng.IntN(5), int64(rng.IntN(60))
		got, want := hitsOf(t, all, block, size), bruteForce(all, block, size)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, blocks of %d, %d tokens: %v, want %v", seed, block, size, got, want)
		}
	}
}

// random returns conversations that share beginnings.
func random(rng *rand.Rand) []sent {
	text := func() string {
		return "abab"[:rng.IntN(5)] + string(rune('a'+rng.IntN(3)))
	}
	var all []sent
	var histories [][]said
	at := uint64(0)
	for range 2 + rng.IntN(30) {
		var prompt []said
		if len(histories) > 0 && rng.IntN(4) > 0 {
			prompt = slices.Clone(histories[rng.IntN(len(histories))])
			prompt = prompt[:len(prompt)-rng.IntN(2)]
		}
		prompt = append(prompt, said{"user", text()})
		s := sent{start: at, end: at + uint64(rng.IntN(5)), prompt: prompt, nothing: rng.IntN(8) == 0}
		if rng.IntN(3) > 0 {
			s.answer = []said{{"assistant", text()}}
		}
		histories = append(histories, slices.Concat(prompt, s.answer))
		all = append(all, s)
		at += uint64(rng.IntN(4))
	}
	return all
}

// tokensOf returns the tokens of parts; the first one of a part has its role.
func tokensOf(all []said) (tokens []string) {
	for _, s := range all {
		for i, b := range s.text {
			token := string(b)
			if i == 0 {
				token = s.role + ":" + token
			}
			tokens = append(tokens, token)
		}
	}
	return tokens
}

func bruteForce(all []sent, block int, size int64) []Hit {
	var left [][]string
	var recent []string // blocks, the most recent one last
	use := func(tokens []string, blocks int) {
		for k := blocks; k > 0; k-- {
			b := strings.Join(tokens[:k*block], " ")
			recent = append(slices.DeleteFunc(recent, func(x string) bool { return x == b }), b)
		}
	}
	fill := func(s sent) {
		if s.nothing {
			return
		}
		tokens := tokensOf(slices.Concat(s.prompt, s.answer))
		left = append(left, tokens)
		use(tokens, len(tokens)/block)
		recent = recent[max(0, len(recent)-int(size)/block):]
	}
	hits := make([]Hit, len(all))
	start := func(i int) {
		tokens := tokensOf(all[i].prompt)
		h := &hits[i]
		for _, l := range left {
			n := 0
			for n < min(len(l), len(tokens)) && l[n] == tokens[n] {
				n++
			}
			h.Tokens = max(h.Tokens, int64(n))
		}
		h.Blocks = h.Tokens / int64(block) * int64(block)
		h.Kept = h.Blocks
		if size > 0 {
			k := 0
			for (k+1)*block <= len(tokens) && slices.Contains(recent, strings.Join(tokens[:(k+1)*block], " ")) {
				k++
			}
			use(tokens, k)
			h.Kept = int64(k * block)
		}
	}
	for t := range uint64(200) {
		for _, s := range all {
			if s.end == t && s.start < t {
				fill(s)
			}
		}
		for i, s := range all {
			if s.start == t {
				start(i)
			}
		}
		for _, s := range all {
			if s.start == t && s.end == t {
				fill(s)
			}
		}
	}
	return hits
}

func TestPartErrors(t *testing.T) {
	c := New(Config{Encode: letters, MostTokens: 5})
	if _, err := c.Part(0, []byte("a!")); err == nil || err.Error() != "no letter" {
		t.Error(err)
	}
	first, err := c.Part(0, []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Part(0, []byte("defg")); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if again, err := c.Part(0, []byte("abc")); err != nil || again != first {
		t.Errorf("%+v, %v", again, err)
	}
}

// A conversation of n turns stores each message once, and its beginnings take no more memory than its messages.
func TestPathsShareBeginnings(t *testing.T) {
	c := New(Config{Encode: letters})
	var history []said
	for i := range 100 {
		history = append(history, said{"user", fmt.Sprintf("question %d", i)})
		c.node(t, Root, history)
	}
	if len(c.nodes) != 101 {
		t.Errorf("%d nodes", len(c.nodes))
	}
}
