package promptcache

import (
	"errors"
	"hash/maphash"
	"math/bits"
	"sync"
)

// A Config says how a Cache is made.
type Config struct {
	// Encode appends the tokens of a text. It is safe for concurrent use.
	Encode func(dst []uint32, text []byte) ([]uint32, error)
	// MostTokens bounds the tokens that the Cache stores; 0 is no bound. Each takes 4 bytes.
	MostTokens int
}

// ErrFull is the error of prompts with more different tokens than Config.MostTokens.
var ErrFull = errors.New("the prompts hold too many different tokens")

// A Cache stores the prompts of a run.
type Cache struct {
	cfg  Config
	seed maphash.Seed

	mu     sync.Mutex // guards the fields below
	parts  map[uint64]Part
	spans  []span   // of the tokens of each part
	tokens []uint32 // of all parts
	full   bool

	// The fields below belong to the goroutine that calls Path.

	nodes []node
	// children leads from a node and the first token of an edge to the node at its end; after leads from a node and a part
	// to the node at the end of the part.
	children, after map[uint64]int32
}

// A Part is a part of a prompt.
type Part struct {
	ID     int32
	Tokens int
}

// A span is the place of the tokens of a part.
type span struct{ from, to int }

// A node is the end of a beginning of prompts. Beginnings that share tokens share nodes.
type node struct {
	parent int32
	depth  int32 // number of tokens up to the node
	from   int   // place of the tokens between the parent and the node
}

// Root is the node before the first token.
const Root int32 = 0

// New returns an empty Cache.
func New(cfg Config) *Cache {
	return &Cache{
		cfg: cfg, seed: maphash.MakeSeed(), parts: map[uint64]Part{},
		nodes: []node{{parent: -1}}, children: map[uint64]int32{}, after: map[uint64]int32{},
	}
}

// Mark returns what tells two parts of equal text apart: of something before it, which is not counted, and of a text, such
// as the role of a message.
func (c *Cache) Mark(before uint64, text []byte) uint64 {
	return bits.RotateLeft64(before, 21)*0x9e3779b97f4a7c15 ^ maphash.Bytes(c.seed, text)
}

// Part returns the part with a mark and a text. The error is of the tokenizer, or ErrFull.
func (c *Cache) Part(mark uint64, text []byte) (Part, error) {
	return c.part(mark, text, c.cfg.Encode)
}

// ID returns the part that is a single token, which its id names.
func (c *Cache) ID(mark uint64, id []byte) (Part, error) {
	return c.part(c.Mark(mark, idMark), id, func(dst []uint32, id []byte) ([]uint32, error) {
		return append(dst, uint32(maphash.Bytes(c.seed, id))), nil //nolint:gosec // any bits of the hash
	})
}

// idMark tells token ids from texts.
var idMark = []byte("token id")

// part returns the part with a mark and a text, whose tokens encode appends.
func (c *Cache) part(mark uint64, text []byte, encode func([]uint32, []byte) ([]uint32, error)) (Part, error) {
	key := c.Mark(mark, text)
	if p, ok := c.known(key); ok {
		return p, nil
	}
	tokens, err := encode(nil, text)
	if err != nil {
		return Part{}, err
	}
	if len(tokens) > 0 { // parts of different marks share no token
		const marked = 1 << 31
		tokens[0] = uint32(bits.RotateLeft64(mark, 29)*0x9e3779b97f4a7c15>>32) ^ tokens[0]*0x85ebca6b | marked
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.parts[key]; ok {
		return p, nil
	}
	if c.cfg.MostTokens > 0 && len(c.tokens)+len(tokens) > c.cfg.MostTokens {
		c.full = true
	}
	if c.full {
		return Part{}, ErrFull
	}
	from := len(c.tokens)
	c.tokens = append(c.tokens, tokens...)
	p := Part{ID: int32(len(c.spans)), Tokens: len(tokens)} //nolint:gosec // a part has bytes of a file
	c.spans = append(c.spans, span{from, len(c.tokens)})
	c.parts[key] = p
	return p, nil
}

// known returns the part with a key.
func (c *Cache) known(key uint64) (Part, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.parts[key]
	return p, ok
}

// Path returns the node at the end of a part that comes after a node.
func (c *Cache) Path(from, part int32) int32 {
	key := pair(from, uint32(part))
	if n, ok := c.after[key]; ok {
		return n
	}
	c.mu.Lock()
	tokens, s := c.tokens, c.spans[part]
	c.mu.Unlock()
	at := from
	for i := s.from; i < s.to; {
		child, ok := c.children[pair(at, tokens[i])]
		if !ok {
			at = c.add(at, i, s.to-i, tokens[i])
			break
		}
		n := &c.nodes[child]
		length := int(n.depth - c.nodes[at].depth)
		same := 1
		for same < length && i+same < s.to && tokens[n.from+same] == tokens[i+same] {
			same++
		}
		if same < length {
			child = c.split(child, same, tokens)
		}
		at = child
		i += same
	}
	c.after[key] = at
	return at
}

// add adds a node, n tokens after a parent.
func (c *Cache) add(parent int32, from, n int, first uint32) int32 {
	id := int32(len(c.nodes))
	c.nodes = append(c.nodes, node{parent: parent, depth: c.nodes[parent].depth + int32(n), from: from})
	c.children[pair(parent, first)] = id
	return id
}

// split puts a node before a node, n tokens after its parent, and returns it.
func (c *Cache) split(id int32, n int, tokens []uint32) int32 {
	lower := c.nodes[id]
	upper := c.add(lower.parent, lower.from, n, tokens[lower.from])
	c.nodes[id].parent, c.nodes[id].from = upper, lower.from+n
	c.children[pair(upper, tokens[lower.from+n])] = id
	return upper
}

// pair makes one key of two numbers.
func pair(node int32, x uint32) uint64 { return uint64(uint32(node))<<32 | uint64(x) }

// Tokens returns the number of tokens up to a node.
func (c *Cache) Tokens(node int32) int64 { return int64(c.nodes[node].depth) }
