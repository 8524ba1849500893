package figure

import (
	"bytes"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// Cached says which part of the input tokens of a level the server had in its cache, and
// why. It is about the successful requests whose answers state both. All parts are shares
// of their input tokens, from 0 to 1.
type Cached struct {
	Stated int // requests
	Share  float64
	// Own is the part of Share that the requests of the level explain: beginnings that they
	// share, such as system prompts and the history of conversations, and prompts that the
	// level sends twice.
	Own float64
	// Twice is the part of Own in prompts that the level sent a second time as a whole.
	Twice float64
	// Earlier is the part that an earlier level had sent, and this level no earlier request.
	// EarlierLevel names the level that had sent most of it.
	Earlier      float64
	EarlierLevel string
	// Elsewhere is the part that nothing in the file explains: an earlier run or another
	// client had sent it. The first templateTokens of each request do not count, because the
	// server may put a text of its own before each prompt. Where Known is false, Elsewhere is
	// nearly all of Share.
	Elsewhere float64
	// Known says that the prompts were read; otherwise only Share is known.
	Known bool
	// Again says, where Known is false, that the recorder sent prompts of an earlier level or run again.
	Again bool
}

// CachedThreshold is the share of the input tokens from which a warning says that the server had
// them in its cache. Tokens that requests of the level share do not count.
const CachedThreshold = 0.05

// templateTokens is more than a chat template puts before a prompt.
const templateTokens = 64

// A promptBlock is the end of a part of a prompt.
type promptBlock struct {
	hash uint64  // of the prompt up to there
	part float32 // of the prompt, 0 to 1
	// number counts the blocks of a prompt from 1; the last block, at the end of the
	// prompt, has 0.
	number uint16
}

// A PromptHasher divides prompts into blocks. Equal beginnings of prompts have equal
// blocks.
type PromptHasher struct {
	Seed   maphash.Seed
	text   []byte
	blocks []promptBlock // of all prompts since the last reset
}

// Reset forgets the prompts so far, whose memory is used again.
func (h *PromptHasher) Reset() { h.blocks = h.blocks[:0] }

// A Prompt holds the blocks of a prompt, and the part of it that repeats the history of its conversation.
type Prompt struct {
	blocks  []promptBlock // nil if the file lacks the prompt
	history float32
}

// Hash returns the prompt of r, which is valid until the next reset.
func (h *PromptHasher) Hash(r *export.Request) (p Prompt) {
	h.text = h.text[:0]
	for i := range r.Inputs {
		f := &r.Inputs[i]
		if f.Name != "payload" || !h.members(f.Value.Data) {
			h.text = append(h.text, f.Value.Data...)
		}
	}
	if len(h.text) == 0 {
		return p
	}
	text := h.text
	const frame = 64 // bytes: more than the first message has before its content
	if at := bytes.Index(text[:min(frame, len(text))], []byte(`"content":`)); at > 0 {
		text = text[at:] // all prompts share what is before
	}
	at := bytes.LastIndex(text, []byte(`"role"`))
	if at > 0 && (r.Turn > 0 || r.Agent != "" && bytes.Contains(text[:at], []byte(`"assistant"`))) { // a fork begins with its parent's history
		p.history = float32(at) / float32(len(text))
	}
	from := len(h.blocks)
	chain := uint64(0)
	for at, number := 0, uint16(1); at < len(text); number++ {
		end := min(at+blockSize(at), len(text))
		chain = bits.RotateLeft64(chain, 7)*0x9e3779b97f4a7c15 ^ maphash.Bytes(h.Seed, text[at:end])
		if at = end; at == len(text) {
			number = 0
		}
		h.blocks = append(h.blocks, promptBlock{chain, float32(at) / float32(len(text)), number})
	}
	p.blocks = h.blocks[from:len(h.blocks):len(h.blocks)]
	return p
}

// blockSize returns the size of the block that begins at a byte of a prompt: 32 bytes, and
// further on about an eighth of the prompt before it, so that a prompt of any length has few
// blocks.
func blockSize(at int) int { return 1 << max(5, bits.Len(uint(at))-4) } //nolint:gosec // not negative

// members appends the members of a JSON object that the model reads. It returns false if
// the text is no object; nothing is appended then.
func (h *PromptHasher) members(js []byte) bool {
	before := len(h.text)
	i := jsonscan.SkipSpace(js, 0)
	if i >= len(js) || js[i] != '{' {
		return false
	}
	for i++; ; i++ {
		i = jsonscan.SkipSpace(js, i)
		if i < len(js) && js[i] == '}' {
			return true
		}
		if i >= len(js) || js[i] != '"' {
			break
		}
		end, err := jsonscan.String(js, i)
		if err != nil {
			break
		}
		name := js[i+1 : end-1]
		if i = jsonscan.SkipSpace(js, end); i >= len(js) || js[i] != ':' {
			break
		}
		i = jsonscan.SkipSpace(js, i+1)
		if end, _, err = jsonscan.Value(js, i); err != nil {
			break
		}
		if openai.ReadByModel(string(name)) {
			h.text = append(h.text, js[i:end]...)
		}
		if i = jsonscan.SkipSpace(js, end); i < len(js) && js[i] == '}' {
			return true
		}
		if i >= len(js) || js[i] != ',' {
			break
		}
	}
	h.text = h.text[:before]
	return false
}

// mostBlocks bounds the memory of the blocks that Prompts remembers. These are the
// blocks of 15,000 prompts of 2 KB.
const mostBlocks = 1 << 19

// Prompts follows which levels sent which beginnings of prompts.
type Prompts struct {
	seen map[uint64]promptSeen
	// stride: only blocks whose number is a multiple of it are remembered, and all last blocks. It
	// grows when there are too many blocks; beginnings that prompts share are then no longer found
	// reliably. full says that no further blocks are remembered.
	stride uint16
	full   bool
	levels []levelPrompts
}

// promptSeen says which levels sent a block: the first one and the last one in the order of
// reading.
type promptSeen struct{ first, last, number uint16 }

// levelPrompts sums up the counted requests of a level. Sums are of tokens.
type levelPrompts struct {
	stated  int
	known   bool
	firstNS uint64 // start of the first request of any kind

	input, cached, own, twice, elsewhere float64
	// shares counts the tokens that requests of the level share, cached or not. sentBefore counts
	// the tokens that they share with each other or with other levels. Both bound the sums, because
	// at a high concurrency the server may see requests in another order than the file has.
	shares, sentBefore float64
	// By the index of the level that had sent them before: shared counts the tokens of this
	// level, and earlier the ones among them that were cached.
	earlier, shared map[int]float64
}

// Add adds a request of any kind of level i, with its prompt.
func (p *Prompts) Add(i int, q *answer.Measured, prompt Prompt) {
	if i > math.MaxUint16 {
		return // promptSeen has no room for so many levels
	}
	for len(p.levels) <= i {
		p.levels = append(p.levels, levelPrompts{earlier: map[int]float64{}, shared: map[int]float64{}})
	}
	l := &p.levels[i]
	if l.firstNS == 0 || q.PlaceNS != 0 && q.PlaceNS < l.firstNS {
		l.firstNS = q.PlaceNS
	}
	if !q.UncachedInput().OK {
		return
	}
	blocks := prompt.blocks
	own, other, level := float64(prompt.history), 0.0, 0
	most := own // part that may have been sent before: the block that differs may do so at its end
	for k := len(blocks) - 1; k >= 0 && p.stride > 0; k-- {
		if blocks[k].number%p.stride != 0 {
			continue
		}
		seen, ok := p.seen[blocks[k].hash]
		if !ok {
			continue
		}
		part := float64(blocks[k].part)
		if next := min(k+1, len(blocks)-1); own < part && other < part {
			most = max(most, float64(blocks[next].part))
		}
		if own < part && (int(seen.first) == i || int(seen.last) == i) {
			own = part
		}
		if other < part && int(seen.first) != i {
			other, level = part, int(seen.first)
		}
		if own >= part {
			break // shorter beginnings add nothing
		}
	}
	p.remember(i, blocks)
	if !q.Counted {
		return
	}
	n, cached := float64(q.InputTokens.V), float64(q.CachedTokens.V)
	l.stated++
	l.known = l.known || len(blocks) > 0
	l.input += n
	l.cached += cached
	l.own += min(cached, own*n)
	if own == 1 {
		l.twice += cached
	}
	if other > own {
		l.shared[level] += (other - own) * n
		l.earlier[level] += max(0, min(cached, other*n)-own*n)
	}
	l.shares += own * n
	l.sentBefore += most * n
	l.elsewhere += max(0, cached-most*n-templateTokens)
}

// remember notes that level i sent the blocks.
func (p *Prompts) remember(i int, blocks []promptBlock) {
	if p.seen == nil {
		p.seen, p.stride = map[uint64]promptSeen{}, 1
	}
	for _, b := range blocks {
		if b.number%p.stride != 0 {
			continue
		}
		seen, known := p.seen[b.hash]
		switch {
		case known && int(seen.last) == i:
			continue
		case known:
			seen.last = uint16(i) //nolint:gosec // add refuses larger ones
		case p.full:
			continue
		default:
			seen = promptSeen{uint16(i), uint16(i), b.number} //nolint:gosec // as above
		}
		p.seen[b.hash] = seen
	}
	for len(p.seen) > mostBlocks && !p.full {
		p.stride *= 2
		for hash, seen := range p.seen {
			if seen.number%p.stride != 0 {
				delete(p.seen, hash)
			}
		}
		p.full = p.stride >= 1<<12
	}
}

// StartNS returns the start of the first request of level i; 0 if none is known.
func (p *Prompts) StartNS(i int) uint64 {
	if i >= len(p.levels) {
		return 0
	}
	return p.levels[i].firstNS
}

// sharing returns for each level, in order, the other levels that sent beginnings of its prompts.
func (p *Prompts) sharing() [][]int {
	others := make([][]int, len(p.levels))
	for i := range p.levels {
		for k := range p.levels[i].shared { // has the levels of earlier, too
			others[i] = append(others[i], k)
			others[k] = append(others[k], i)
		}
	}
	for i := range others {
		slices.Sort(others[i])
		others[i] = slices.Compact(others[i])
	}
	return others
}

// Cached returns the figures of each level. names are the names of the levels.
func (p *Prompts) Cached(names []string) []*Cached {
	all := make([]*Cached, len(names))
	others := p.sharing()
	for i := range min(len(p.levels), len(names)) {
		l := &p.levels[i]
		if l.stated == 0 || l.input == 0 {
			continue
		}
		c := &Cached{Stated: l.stated, Share: l.cached / l.input, Own: l.own / l.input, Twice: l.twice / l.input, Known: l.known}
		elsewhere, most := l.elsewhere, 0.0
		if l.known {
			elsewhere = max(0, min(elsewhere, l.cached-l.sentBefore))
		}
		left := max(0, l.cached-l.shares) // for earlier levels
		from := func(k int, tokens float64) {
			tokens = min(tokens, left)
			left -= tokens
			c.Earlier += tokens / l.input
			if tokens > most {
				most, c.EarlierLevel = tokens, names[k]
			}
		}
		for _, k := range others[i] {
			switch o := &p.levels[k]; {
			case o.firstNS >= l.firstNS:
			case l.earlier[k] > 0:
				from(k, l.earlier[k])
			default: // the earlier level comes later in the file
				tokens := min(o.shared[i], elsewhere)
				elsewhere -= tokens
				from(k, tokens)
			}
		}
		if !l.known || p.stride <= 1 {
			c.Elsewhere = elsewhere / l.input
		}
		all[i] = c
	}
	return all
}
