package sim

import (
	"container/list"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// DefaultCacheBlock is the default of PrefixCache.BlockTokens.
const DefaultCacheBlock = 16

// PrefixCache configures the prefix cache of chat completions and completions, which has vLLM's rules: it stores whole blocks
// of tokens, each together with all tokens before it, and the least recently used block leaves a full cache.
//
// The tokens of a prompt are the tokens of its texts (Config.Encode), each text by itself, or its token ids. The first token of a text
// counts as another one than the same token after other roles, tools and tool calls, so that equal texts of different roles share
// nothing.
//
// When the work on a request begins, it reads the longest beginning of its prompt that the cache has. Its own blocks come into
// the cache right before its last token is sent, so that any request that is sent after the answer finds them. An answer is
// stored as a message of an assistant after the prompt. A request that breaks off leaves its prompt alone.
type PrefixCache struct {
	// BlockTokens is the number of tokens in a block; 0 means DefaultCacheBlock.
	BlockTokens int
	// Tokens is the size of the cache, in whole blocks; 0 means no limit.
	Tokens int64
	// PromptsOnly keeps answers out of the cache.
	PromptsOnly bool
}

// validate returns the mistakes of c.
func (c *PrefixCache) validate() error {
	block := c.BlockTokens
	setDefault(&block, DefaultCacheBlock)
	switch {
	case c.BlockTokens < 0 || c.BlockTokens > plan.MaxContextTokens:
		return fmt.Errorf("cache block: %d is not between 1 and %d", c.BlockTokens, plan.MaxContextTokens)
	case c.Tokens < 0:
		return fmt.Errorf("cache tokens: %d is negative; 0 means no limit", c.Tokens)
	case c.Tokens > 0 && c.Tokens < int64(block):
		return fmt.Errorf("cache tokens: %d is less than a block of %d; 0 means no limit", c.Tokens, block)
	}
	return nil
}

// A prefixCache is the cache of a server. Use newPrefixCache.
type prefixCache struct {
	PrefixCache
	encode func(dst []uint32, text string) []uint32 // nil: words
	most   int64                                    // blocks; 0 is no limit
	seed   maphash.Seed

	mu sync.Mutex // guards the fields below
	// blocks are the elements of recent, by their keys. recent holds the keys, the most recently used first.
	blocks map[uint64]*list.Element
	recent *list.List
}

// newPrefixCache returns an empty cache; nil for nil. encode is Config.Encode.
func newPrefixCache(c *PrefixCache, encode func(dst []uint32, text string) []uint32) *prefixCache {
	if c == nil {
		return nil
	}
	p := &prefixCache{PrefixCache: *c, encode: encode, seed: maphash.MakeSeed(), blocks: map[uint64]*list.Element{}, recent: list.New()}
	setDefault(&p.BlockTokens, DefaultCacheBlock)
	p.most = p.Tokens / int64(p.BlockTokens)
	return p
}

// A cachedPrompt is the tokens of a prompt, and of the answer to it.
type cachedPrompt struct {
	*prefixCache
	model  string
	tokens []uint64
	mark   uint64 // of the next text
}

// add adds a mark to the next text.
func (p *cachedPrompt) add(mark []byte) {
	p.mark = maphash.Comparable(p.seed, struct {
		before uint64
		mark   string
	}{p.mark, string(mark)})
}

// text adds the tokens of a text.
func (p *cachedPrompt) text(s string) {
	first := len(p.tokens)
	if p.encode == nil {
		for word := range strings.FieldsSeq(s) {
			p.tokens = append(p.tokens, maphash.String(p.seed, word))
		}
	} else {
		for _, id := range p.encode(nil, s) {
			p.tokens = append(p.tokens, uint64(id))
		}
	}
	if first < len(p.tokens) {
		p.tokens[first] = p.marked(p.tokens[first])
	}
}

// marked returns a token with the mark, which is gone then.
func (p *cachedPrompt) marked(token uint64) uint64 {
	token = maphash.Comparable(p.seed, [2]uint64{p.mark, token})
	p.mark = 0
	return token
}

// content adds the content of a message: see contentTokens.
func (p *cachedPrompt) content(raw json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		p.text(text)
		return
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		for _, part := range parts {
			p.text(part.Text)
		}
	}
}

// answered returns the prompt with an answer behind it.
func (p *cachedPrompt) answered(text string) *cachedPrompt {
	all := *p
	all.tokens = append([]uint64{}, p.tokens...)
	all.add([]byte("assistant"))
	all.text(text)
	return &all
}

// prompts returns the prompts of a request, which openAIPlanRequest accepts.
func (c *prefixCache) prompts(q *openAIRequest, chat bool) []*cachedPrompt {
	one := func() *cachedPrompt { return &cachedPrompt{prefixCache: c, model: q.Model} }
	if chat {
		p := one()
		if q.Tools != nil {
			p.add(q.Tools)
		}
		for _, m := range q.Messages {
			var role string
			if json.Unmarshal(m.Role, &role) == nil && m.Role != nil {
				p.add([]byte(role))
			}
			if m.ToolCalls != nil {
				p.add(m.ToolCalls)
			}
			p.content(m.Content)
		}
		return []*cachedPrompt{p}
	}
	var text string
	var texts []string
	var ids []int64
	var manyIDs [][]int64
	switch {
	case json.Unmarshal(q.Prompt, &text) == nil:
		texts = []string{text}
	case json.Unmarshal(q.Prompt, &ids) == nil && len(ids) > 0:
		manyIDs = [][]int64{ids}
	case json.Unmarshal(q.Prompt, &manyIDs) == nil:
	default:
		_ = json.Unmarshal(q.Prompt, &texts) // openAIPlanRequest has done so
	}
	var all []*cachedPrompt
	for _, t := range texts {
		p := one()
		p.text(t)
		all = append(all, p)
	}
	for _, list := range manyIDs {
		p := one()
		for _, id := range list {
			p.tokens = append(p.tokens, p.marked(uint64(id)))
		}
		all = append(all, p)
	}
	return all
}

// keys returns the keys of the whole blocks of a prompt. A key stands for all tokens up to the end of its block.
func (c *prefixCache) keys(p *cachedPrompt) []uint64 {
	key := maphash.String(p.seed, p.model)
	keys := make([]uint64, 0, len(p.tokens)/c.BlockTokens)
	var block []byte
	for i, token := range p.tokens {
		block = binary.LittleEndian.AppendUint64(block, token)
		if (i+1)%c.BlockTokens == 0 {
			key = maphash.Bytes(p.seed, binary.LittleEndian.AppendUint64(block, key))
			keys, block = append(keys, key), block[:0]
		}
	}
	return keys
}

// read returns how many tokens of the beginning of a prompt are there. Their blocks are the most recently used ones then, the
// first of all.
func (c *prefixCache) read(p *cachedPrompt) int {
	keys := c.keys(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(keys) && c.blocks[keys[n]] != nil {
		n++
	}
	for i := n - 1; i >= 0; i-- {
		c.recent.MoveToFront(c.blocks[keys[i]])
	}
	return n * c.BlockTokens
}

// fill adds the blocks of a prompt. The first one is the most recently used one then, so that no block stays without the blocks
// before it.
func (c *prefixCache) fill(p *cachedPrompt) {
	keys := c.keys(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(keys) - 1; i >= 0; i-- {
		if e := c.blocks[keys[i]]; e != nil {
			c.recent.MoveToFront(e)
		} else {
			c.blocks[keys[i]] = c.recent.PushFront(keys[i])
		}
	}
	for c.most > 0 && int64(len(c.blocks)) > c.most {
		key := c.recent.Remove(c.recent.Back()).(uint64)
		delete(c.blocks, key)
	}
}

// readCache looks the prompts of a request up, when the work on it begins.
func (x *exchange) readCache(p *plan.Plan) {
	c := x.s.cache
	if c == nil || len(x.prompts) == 0 {
		return
	}
	p.CachedTokens = 0
	for _, prompt := range x.prompts {
		p.CachedTokens += c.read(prompt)
	}
	cached := p.CachedTokens
	x.rec.Update(func(e *Entry) { e.CachedTokens = &cached })
	x.engine.cached(p.InputTokens, cached)
}

// fillCache adds the prompts of a request to the cache, once; whole says that all of its answers are sent with the next write.
func (x *exchange) fillCache(p *plan.Plan, whole bool) {
	c := x.s.cache
	if c == nil || len(x.prompts) == 0 {
		return
	}
	prompts := x.prompts
	x.prompts = nil
	if !whole || c.PromptsOnly {
		for _, prompt := range prompts {
			c.fill(prompt)
		}
		return
	}
	texts, _ := p.Whole()
	for i, text := range texts {
		c.fill(prompts[i*len(prompts)/len(texts)].answered(text))
	}
}
