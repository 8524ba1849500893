package tokenizer

// A model turns a piece into ids. It is immutable and safe for concurrent use; each caller
// has its own scratch.
type model interface {
	// encode appends the ids of a non-empty piece.
	encode(dst []uint32, piece string, s *scratch) []uint32
	// words returns pieces that encode turns into a single id, with these ids.
	words() (pieces []string, ids []uint32)
	vocabulary() *vocab
}

// A scratch is reusable working memory of a model.
type scratch struct {
	ids    []uint32
	merges []uint64
	nodes  []pathNode
	heap   mergeHeap
	links  []link
}

// readModel builds the model of a description.
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

// typeName returns the type of the model. Files from before 2021 do not name it; their
// members reveal it.
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
