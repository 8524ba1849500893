package profilejson

import (
	"bytes"
	"math/rand/v2"
)

// A node is a JSON value as a plain recursive parser sees it, with the order
// of members and the bytes of scalars kept. It shares nothing with the
// package's own scanner. Input has to be valid.
type node struct {
	kind       byte // '{', '[' or 0
	raw        []byte
	names      [][]byte // with quotes
	kids       []*node
	start, end int
}

func parseTree(b []byte) *node {
	n, _ := parseNode(b, 0)
	return n
}

func parseNode(b []byte, i int) (*node, int) {
	space := func() {
		for bytes.IndexByte([]byte(" \t\r\n"), b[i]) >= 0 {
			i++
		}
	}
	str := func() []byte {
		start := i
		for i++; b[i] != '"'; i++ {
			if b[i] == '\\' {
				i++
			}
		}
		i++
		return b[start:i]
	}
	space()
	n := &node{start: i}
	switch c := b[i]; c {
	case '{', '[':
		n.kind = c
		i++
		for space(); b[i] != c+2; space() {
			if b[i] == ',' {
				i++
				space()
			}
			if c == '{' {
				n.names = append(n.names, str())
				space()
				i++ // the colon
			}
			var kid *node
			kid, i = parseNode(b, i)
			n.kids = append(n.kids, kid)
		}
		i++
	case '"':
		n.raw = str()
	default:
		for i < len(b) && bytes.IndexByte([]byte(",]} \t\r\n"), b[i]) < 0 {
			i++
		}
		n.raw = b[n.start:i]
	}
	n.end = i
	return n, i
}

// get returns the member of that name.
func (n *node) get(name string) *node {
	for i := range n.names {
		if string(n.names[i]) == `"`+name+`"` {
			return n.kids[i]
		}
	}
	return nil
}

// shuffle reorders the members of all objects but the inputs and outputs of
// requests, in which the order is data.
func (n *node) shuffle(rng *rand.Rand) {
	if n.kind == '{' {
		rng.Shuffle(len(n.kids), func(i, j int) {
			n.kids[i], n.kids[j] = n.kids[j], n.kids[i]
			n.names[i], n.names[j] = n.names[j], n.names[i]
		})
	}
	for i, kid := range n.kids {
		if n.kind == '{' {
			if name := string(n.names[i]); name == `"request_inputs"` || name == `"response_outputs"` {
				continue
			}
		}
		kid.shuffle(rng)
	}
}

// print writes the tree with spaces and line breaks at random.
func (n *node) print(b []byte, rng *rand.Rand) []byte {
	space := func() {
		for range rng.IntN(4) {
			b = append(b, " \n\t\r"[rng.IntN(4)])
		}
	}
	if n.kind == 0 {
		return append(b, n.raw...)
	}
	b = append(b, n.kind)
	for i, kid := range n.kids {
		if i > 0 {
			b = append(b, ',')
		}
		space()
		if n.kind == '{' {
			b = append(b, n.names[i]...)
			space()
			b = append(b, ':')
			space()
		}
		b = kid.print(b, rng)
		space()
	}
	return append(b, n.kind+2)
}
