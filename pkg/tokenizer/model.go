package tokenizer

// A model turns a piece into ids. It is immutable and called concurrently; the
// scratch is the caller's own.
type model interface {
	// encode appends the ids of a piece, which is not empty.
	encode(dst []uint32, piece string, s *scratch) []uint32
	// words returns the pieces that are one token, with their ids: encode
	// gives exactly that id for each of them.
	words() (pieces []string, ids []uint32)
	vocabulary() *vocab
}

// A wordCutter is a model that can cut a piece without changing its ids. The
// parts come up again and again, which whole pieces may not.
type wordCutter interface {
	// wordEnd is where piece can be cut for the first time, or its length.
	wordEnd(piece string) int
}

// A scratch is memory that an encoder lends to the model, to use it again.
type scratch struct {
	ids    []uint32
	merges []uint64
	nodes  []pathNode
	heap   mergeHeap
	links  []link
}

// readModel builds the model from what was read of its description.
func readModel(m *modelFile, byteLevel bool) (model, error) {
	name, err := m.typeName()
	if err != nil {
		return nil, err
	}
	switch name {
	case "BPE":
		return readBPE(m, byteLevel)
	case "WordPiece":
		return readWordPiece(m)
	case "WordLevel":
		return readWordLevel(m)
	case "Unigram":
		return readUnigram(m)
	}
	return nil, m.member("type").errorf("model %s is not supported", quote(name))
}

// typeName is the type of the model. Files of before 2021 do not say it; it
// shows in what they have.
func (m *modelFile) typeName() (string, error) {
	switch {
	case m.member("type") != nil:
		return m.wantString("type")
	case m.merges != nil || m.hasMerges:
		return "BPE", nil
	case m.scores != nil:
		return "Unigram", nil
	case m.member("max_input_chars_per_word") != nil:
		return "WordPiece", nil
	case m.vocab != nil:
		return "WordLevel", nil
	}
	return "", m.errorf(`"type" is missing`)
}
