package tokenizer

import "fmt"

// A trie finds the strings that are prefixes of a text. Its edges are in one table with
// open addressing: a step costs one probe, and 100,000 tokens take a few megabytes.
type trie struct {
	edges []edge // length is a power of two
	used  int
	// values holds the value of each node, -1 where no string ends. Node 0 is the root.
	values []int32
	// first marks the first bytes of all strings.
	first [256]bool
}

// An edge leads from a node to a child for a byte. A slot with child 0, the root, is
// empty.
type edge struct {
	from  uint32 // node<<8 | byte
	child uint32
}

// maxTokenBytes bounds the tokens that are looked for at each place of a text: the text a…a takes as
// many steps as its length times the length of the longest token of as. Tokens of known tokenizers
// have a few hundred bytes.
const maxTokenBytes = 4096

// checkToken returns an error for a token that is longer than maxTokenBytes.
func checkToken(token string) error {
	if len(token) > maxTokenBytes {
		return fmt.Errorf("token %.20q… has %d bytes; at most %d are supported", token, len(token), maxTokenBytes)
	}
	return nil
}

const maxTrieNodes = 1 << 24 // node<<8|byte has 32 bits

func newTrie() *trie {
	return &trie{edges: make([]edge, 64), values: []int32{-1}}
}

func (t *trie) slot(from uint32) *edge {
	mask := uint32(len(t.edges) - 1)
	for h := from * 0x9E3779B1; ; h += 1 << 7 {
		e := &t.edges[h>>7&mask]
		if e.child == 0 || e.from == from {
			return e
		}
	}
}

// add enters s. A later value replaces an earlier one. add returns false if the trie is
// full.
func (t *trie) add(s string, value int32) bool {
	if s == "" {
		return true
	}
	t.first[s[0]] = true
	node := uint32(0)
	for i := range len(s) {
		from := node<<8 | uint32(s[i])
		e := t.slot(from)
		if e.child == 0 {
			if len(t.values) == maxTrieNodes {
				return false
			}
			*e = edge{from, uint32(len(t.values))}
			t.values = append(t.values, -1)
			node = e.child
			if t.used++; t.used*2 > len(t.edges) {
				t.grow()
			}
			continue
		}
		node = e.child
	}
	t.values[node] = value
	return true
}

func (t *trie) grow() {
	old := t.edges
	t.edges = make([]edge, 2*len(old))
	for _, e := range old {
		if e.child != 0 {
			*t.slot(e.from) = e
		}
	}
}

// step follows the edge for c. ok is false if there is none.
func (t *trie) step(node uint32, c byte) (child uint32, ok bool) {
	child = t.slot(node<<8 | uint32(c)).child
	return child, child != 0
}

// longest returns the value and the end of the longest string that is a prefix of s[i:].
// The value is -1 if there is none.
func (t *trie) longest(s string, i int) (value int32, end int) {
	value = -1
	node := uint32(0)
	for k := i; k < len(s); k++ {
		var ok bool
		if node, ok = t.step(node, s[k]); !ok {
			break
		}
		if v := t.values[node]; v >= 0 {
			value, end = v, k+1
		}
	}
	return value, end
}
