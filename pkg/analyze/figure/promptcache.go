package figure

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/promptcache"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// PossibleCache says which part of the prompts of a level a prefix cache could have held, and which part the server had. It is
// about the requests that count.
type PossibleCache struct {
	Block int
	// Limit is the size of the limited cache; 0 for none.
	Limit   int64
	Answers bool // answers fill the cache as well as prompts
	// Known counts the requests with a known prompt, Unknown the others.
	Known, Unknown int
	Possible       PossibleTokens // of the known prompts
	// Stated counts the known requests whose answers state input tokens and cached tokens. The fields below are of them.
	Stated         int
	StatedPossible PossibleTokens
	Input, Cached  int64 // as the server states them
	// Why is the reason why nothing is known; "" if something is.
	Why string
}

// PossibleTokens are sums of tokens.
type PossibleTokens struct {
	Prompt  int64 // of prompts
	Longest int64 // of the longest common beginnings
	Blocks  int64 // of these, in whole blocks
	Limited int64 // of these, in the limited cache; Blocks without one
}

// share returns n tokens as a share of the prompts.
func (t *PossibleTokens) share(n int64) float64 { return float64(n) / float64(t.Prompt) }

// A PromptPath is the place of a prompt in a [PromptCache]. The zero value is of a prompt that is not known.
type PromptPath struct {
	prompt, filled int32
	known          bool
}

// A promptRequest is a request as the cache sees it.
type promptRequest struct {
	path PromptPath
	hit  promptcache.Hit
}

// possible returns the tokens that a prefix cache could have held; export.Missing if the prompt is not known.
func (r *sessionRequest) possible() int64 {
	if !r.path.known || r.start == 0 {
		return export.Missing
	}
	return r.hit.Tokens
}

// tokensShare is the share of Config.MemoryLimit that the tokens of the prompts may take.
const tokensShare = 0.5

// A PromptCache holds the prompts of all levels of a run.
type PromptCache struct {
	cfg   *SessionsConfig
	cache *promptcache.Cache // nil: not asked for, or full
	why   string             // why some prompts, or all, are not known
}

// NewPromptCache returns a cache for the prompts of a run, whose tokens take a share of so many bytes at most.
func NewPromptCache(cfg *SessionsConfig, memoryLimit int64) *PromptCache {
	c := &PromptCache{cfg: cfg}
	if cfg.Encode == nil {
		c.why = "the tokens of the prompts are not known: --tokenizer"
		return c
	}
	c.cache = promptcache.New(promptcache.Config{Encode: cfg.Encode, MostTokens: int(tokensShare * float64(memoryLimit) / 4)})
	return c
}

// A PromptParts finds the parts of prompts. It is for one goroutine.
type PromptParts struct {
	cache *promptcache.Cache
	parts []int32
	mark  uint64
	err   error
}

// Parts returns a PromptParts; nil if no prompts are asked for.
func (c *PromptCache) Parts() *PromptParts {
	if c == nil || c.cache == nil {
		return nil
	}
	return &PromptParts{cache: c.cache}
}

// PromptTexts holds the parts of a prompt, and of its answer.
type PromptTexts struct {
	parts    []int32
	answered int // the parts from this one on are of the answer
	known    bool
	err      error // why a prompt is not known that the file holds
}

// Of returns the parts of the prompt p of a request, and of its answer a. Several prompts of one request are not known: each is
// a beginning of its own.
func (x *PromptParts) Of(p *answer.Prompt, a *answer.Answer, st *export.Stated, withAnswer bool) PromptTexts {
	if p.Several() {
		return PromptTexts{}
	}
	x.parts, x.mark, x.err = nil, 0, nil
	p.Read(x)
	t := PromptTexts{parts: x.parts, answered: len(x.parts), known: len(x.parts) > 0 && x.err == nil, err: x.err}
	if !t.known || !withAnswer {
		return t
	}
	if text := a.Text(st); len(text) > 0 {
		x.mark = 0
		x.Mark([]byte("assistant"))
		x.text(text)
		if x.err == nil {
			t.parts = x.parts
		}
	}
	return t
}

// Mark implements [answer.PromptReader].
func (x *PromptParts) Mark(text []byte) { x.mark = x.cache.Mark(x.mark, text) }

// Text implements [answer.PromptReader].
func (x *PromptParts) Text(text string) { x.text([]byte(text)) }

func (x *PromptParts) text(text []byte) {
	part, err := x.cache.Part(x.mark, text)
	if err != nil {
		x.err = cmp.Or(x.err, err)
		return
	}
	if part.Tokens > 0 { // the marks before an empty text belong to the next one
		x.parts, x.mark = append(x.parts, part.ID), 0
	}
}

// TokenID implements [answer.PromptReader].
func (x *PromptParts) TokenID(id float64) {
	part, err := x.cache.ID(x.mark, binary.LittleEndian.AppendUint64(nil, math.Float64bits(id)))
	if err != nil {
		x.err = cmp.Or(x.err, err)
		return
	}
	x.parts, x.mark = append(x.parts, part.ID), 0
}

// Path returns the place of a prompt, and of what its request leaves in the cache: its answer too if it was answered in full.
// fills says that the server has read the prompt.
func (c *PromptCache) Path(t *PromptTexts, fills, answered bool) PromptPath {
	if c == nil || c.cache == nil {
		return PromptPath{}
	}
	switch {
	case errors.Is(t.err, promptcache.ErrFull):
		c.cache = nil
		c.why = "the prompts hold too many different tokens for --memory-limit"
		return PromptPath{}
	case t.err != nil && c.why == "":
		c.why = "the tokenizer could not count a prompt: " + t.err.Error()
	}
	if !t.known {
		return PromptPath{}
	}
	p := PromptPath{known: true}
	at := promptcache.Root
	for i, part := range t.parts {
		if i == t.answered {
			p.prompt = at
		}
		at = c.cache.Path(at, part)
	}
	if p.filled = at; t.answered == len(t.parts) {
		p.prompt = at
	}
	switch {
	case !fills:
		p.filled = promptcache.Root
	case !answered:
		p.filled = p.prompt
	}
	return p
}

// Compute computes the hits of all requests with known prompts. The requests of all levels use one cache.
func (c *PromptCache) Compute(levels []*SessionCollector) {
	if c == nil || c.cache == nil {
		return
	}
	var order []*sessionRequest
	for _, l := range levels {
		for i := range l.requests {
			if r := &l.requests[i]; r.path.known && r.start != 0 {
				order = append(order, r)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b *sessionRequest) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	requests := make([]promptcache.Request, len(order))
	for i, r := range order {
		requests[i] = promptcache.Request{StartNS: r.start, EndNS: r.end, Prompt: r.path.prompt, Filled: r.path.filled}
	}
	for i, hit := range c.cache.Hits(requests, c.cfg.Block(), c.cfg.CacheTokens) {
		order[i].hit = hit
	}
}

// A PossibleHit says how many tokens of a prompt a prefix cache could have held. The numbers are missing if the prompt is not
// known.
type PossibleHit struct{ Prompt, Longest, Blocks, Limited export.Int }

// Hits returns the hits of all requests, in the order of Add; Compute has been called.
func (c *SessionCollector) Hits(cache *PromptCache) []PossibleHit {
	all := make([]PossibleHit, len(c.requests))
	for i := range c.requests {
		if r := &c.requests[i]; cache.cache != nil && r.path.known && r.start != 0 {
			all[i] = PossibleHit{export.IntOf(cache.cache.Tokens(r.path.prompt)), export.IntOf(r.hit.Tokens), export.IntOf(r.hit.Blocks), export.IntOf(r.hit.Kept)}
		}
	}
	return all
}

// pool returns the sums of the requests that count and are in the part that is reported.
func (c *PromptCache) pool(requests []sessionRequest, in func(startNS uint64) bool, run *export.Run) PossibleCache {
	p := PossibleCache{Block: c.cfg.Block(), Limit: c.cfg.CacheTokens, Answers: !c.cfg.WithoutAnswers}
	for i := range requests {
		r := &requests[i]
		switch {
		case !r.counted || !in(r.start):
			continue
		case c.cache == nil || !r.path.known || r.start == 0:
			p.Unknown++
			continue
		}
		p.Known++
		tokens := PossibleTokens{c.cache.Tokens(r.path.prompt), r.hit.Tokens, r.hit.Blocks, r.hit.Kept}
		p.Possible.add(&tokens)
		if r.input != export.Missing && r.cached != export.Missing && r.cached <= r.input {
			p.Stated++
			p.StatedPossible.add(&tokens)
			p.Input += r.input
			p.Cached += r.cached
		}
	}
	if p.Known == 0 {
		lacks, _ := run.Lacks(export.PartInputs)
		p.Why = cmp.Or(c.why, lacks, "the file holds no prompts")
	}
	return p
}

func (t *PossibleTokens) add(x *PossibleTokens) {
	t.Prompt += x.Prompt
	t.Longest += x.Longest
	t.Blocks += x.Blocks
	t.Limited += x.Limited
}

// setHits sets the figures of hits of the prefix cache.
func (s *Sessions) setHits() {
	c := &s.Cache
	possible := func(key string, n int64) {
		if c.Why == "" {
			s.set(key, c.Possible.share(n), "")
		} else {
			s.set(key, 0, c.Why)
		}
	}
	possible(KeyPossibleHitRate, c.Possible.Longest)
	possible(KeyPossibleBlockRate, c.Possible.Blocks)
	possible(KeyPossibleLimitedHit, c.Possible.Limited)
	why := c.Why
	if why == "" && (c.Stated == 0 || c.Input == 0) {
		why = "no answer to a request with a known prompt states cached tokens"
	}
	if why != "" {
		s.set(KeyMeasuredHitRate, 0, why)
		s.set(KeyHitRateGap, 0, why)
		return
	}
	measured := float64(c.Cached) / float64(c.Input)
	s.set(KeyMeasuredHitRate, measured, "")
	s.set(KeyHitRateGap, c.StatedPossible.share(c.StatedPossible.Longest)-measured, "")
}

// A GapPart is a part of the difference between the possible and the measured hit rate.
type GapPart struct {
	Share  float64 // of the tokens of prompts; below 0 where the server had more
	Reason string
}

// Gap divides the difference between the possible and the measured hit rate; nil if one of them is not known.
func (c *PossibleCache) Gap() []GapPart {
	if c.Why != "" || c.Stated == 0 || c.Input == 0 {
		return nil
	}
	t := &c.StatedPossible
	parts := []GapPart{{t.share(t.Longest - t.Blocks), fmt.Sprintf("blocks of %s that only begin alike", plural.Of(c.Block, "token"))}}
	rest := "eviction, requests of others, or a template that differs"
	if c.Limit > 0 {
		parts = append(parts, GapPart{t.share(t.Blocks - t.Limited), "eviction from a cache of " + plural.GroupedOf(c.Limit, "token")})
		rest = "another size or order of eviction, requests of others, or a template that differs"
	}
	left := t.share(t.Limited) - float64(c.Cached)/float64(c.Input)
	switch {
	case left < 0 && c.Limit > 0:
		rest = "the server had more: a larger cache, the template, or prompts that are not in this file"
	case left < 0:
		rest = "the server had more: the template, or prompts that are not in this file"
	}
	return append(parts, GapPart{left, rest})
}
