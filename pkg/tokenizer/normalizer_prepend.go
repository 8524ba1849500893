package tokenizer

// prepend is the normalizer Prepend: it puts a prefix before a non-empty text.
type prepend string

func readPrepend(n *node) (normalizer, error) {
	s, err := n.wantString("prepend")
	return prepend(s), err
}

func (p prepend) normalize(s string, _ int) string {
	if s == "" {
		return s
	}
	return string(p) + s
}
