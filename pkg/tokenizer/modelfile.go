package tokenizer

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A modelFile is the parsed description of a model. Its small members are nodes. The
// vocabulary and the merges, nearly the whole file, are parsed directly.
type modelFile struct {
	*node
	vocab     *vocab    // for every model but Unigram
	scores    []float64 // for Unigram, by id
	merges    [][2]string
	mergeAt   []int64 // offsets of the merges in the file
	hasMerges bool
}

// readModelFile reads the value of "model".
func (d *document) readModelFile(dec *jsontext.Decoder) (*modelFile, error) {
	m := &modelFile{node: &node{doc: d, field: "model", offset: dec.InputOffset(), kind: dec.PeekKind()}}
	if m.kind != '{' {
		if _, err := dec.ReadToken(); err != nil {
			return nil, d.syntaxError(err, m.field)
		}
		return nil, m.wrongKind("an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, d.syntaxError(err, m.field)
	}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, d.syntaxError(err, m.field)
		}
		name := token.String()
		switch {
		case name == "vocab" && dec.PeekKind() == '{':
			m.vocab, err = d.readVocab(dec)
		case name == "vocab" && dec.PeekKind() == '[':
			m.vocab, m.scores, err = d.readScores(dec)
		case name == "merges" && dec.PeekKind() == '[':
			m.hasMerges = true
			m.merges, m.mergeAt, err = d.readMerges(dec)
		default:
			var value *node
			if value, err = d.readNode(dec, join(m.field, name)); err == nil {
				m.names = append(m.names, name)
				m.values = append(m.values, value)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, d.syntaxError(err, m.field)
	}
	return m, nil
}

// readString reads a string, reusing buf.
func (d *document) readString(dec *jsontext.Decoder, buf []byte, field func() string) ([]byte, error) {
	value, err := dec.ReadValue()
	if err != nil {
		return buf, d.syntaxError(err, field())
	}
	if value.Kind() != '"' {
		return buf, d.errorAt(dec.InputOffset(), field(), "expected a string, found %s", kindName(value.Kind()))
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return append(buf[:0], inner...), nil
	}
	buf, err = jsontext.AppendUnquote(buf[:0], value)
	if err != nil {
		return buf, d.errorAt(dec.InputOffset(), field(), "%w", err)
	}
	return buf, nil
}

// initialEntries returns the number of tokens or merges for which the reader allocates memory in
// advance. Each of them takes at least entryBytes of the file, usually far more.
func (d *document) initialEntries() int {
	const entryBytes = 6
	return min(1<<15, len(d.data)/entryBytes)
}

// readVocab reads {"token": id, …}.
func (d *document) readVocab(dec *jsontext.Decoder) (*vocab, error) {
	const field = "model.vocab"
	if _, err := dec.ReadToken(); err != nil {
		return nil, d.syntaxError(err, field)
	}
	v := newVocab(d.initialEntries())
	var buf []byte
	for dec.PeekKind() != '}' {
		var err error
		if buf, err = d.readString(dec, buf, func() string { return field }); err != nil {
			return nil, err
		}
		token := string(buf)
		name := func() string { return field + "[" + quote(token) + "]" }
		value, err := dec.ReadValue()
		if err != nil {
			return nil, d.syntaxError(err, name())
		}
		id, err := strconv.ParseUint(string(value), 10, 32)
		if err != nil {
			return nil, d.errorAt(dec.InputOffset(), name(), "expected an id, found %s", quote(string(value)))
		}
		// A file with so few bytes has far fewer tokens; the ids index a slice.
		if most := uint64(min(maxID, freeIDs+4*len(d.data))); id > most {
			return nil, d.errorAt(dec.InputOffset(), name(), "id %d is larger than any that is supported (%d)", id, most)
		}
		v.add(token, uint32(id))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, d.syntaxError(err, field)
	}
	return v, nil
}

// readScores reads [["token", score], …]. Ids are indices in it.
func (d *document) readScores(dec *jsontext.Decoder) (*vocab, []float64, error) {
	at := 0
	name := func() string { return "model.vocab[" + strconv.Itoa(at) + "]" }
	fail := func(err error) (*vocab, []float64, error) { return nil, nil, d.syntaxError(err, name()) }
	if _, err := dec.ReadToken(); err != nil {
		return fail(err)
	}
	v := newVocab(d.initialEntries())
	scores := []float64{}
	var buf []byte
	for ; dec.PeekKind() != ']'; at++ {
		if kind := dec.PeekKind(); kind != '[' {
			if _, err := dec.ReadValue(); err != nil {
				return fail(err)
			}
			return nil, nil, d.errorAt(dec.InputOffset(), name(), "expected [token, score], found %s", kindName(kind))
		}
		if at > maxID {
			return nil, nil, d.errorAt(dec.InputOffset(), name(), "more than %d tokens", maxID)
		}
		if _, err := dec.ReadToken(); err != nil {
			return fail(err)
		}
		var err error
		if buf, err = d.readString(dec, buf, name); err != nil {
			return nil, nil, err
		}
		if dec.PeekKind() == ']' {
			return nil, nil, d.errorAt(dec.InputOffset(), name(), "the score is missing")
		}
		value, err := dec.ReadValue()
		if err != nil {
			return fail(err)
		}
		score, ok := parseScore(string(value))
		if !ok {
			return nil, nil, d.errorAt(dec.InputOffset(), name(), "expected a score, found %s", quote(string(value)))
		}
		token, err := dec.ReadToken()
		if err != nil {
			return fail(err)
		}
		if token.Kind() != ']' {
			return nil, nil, d.errorAt(dec.InputOffset(), name(), "more than a token and its score")
		}
		v.add(string(buf), uint32(at))
		scores = append(scores, score)
	}
	if _, err := dec.ReadToken(); err != nil {
		return fail(err)
	}
	return v, scores, nil
}

// parseScore parses a number as the library's JSON parser does: it rounds the digits as
// an integer, multiplies by a power of ten, and rounds again. The result may be off by
// the last bit, which decides ties between segmentations.
func parseScore(s string) (float64, bool) {
	text := s
	negative := false
	if text != "" && text[0] == '-' {
		negative, text = true, text[1:]
	}
	var digits uint64
	exponent := 0
	full := false // further digits do not fit
	seen, point := false, false
	i := 0
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		seen = true
		if full || digits > (1<<64-1)/10 || digits*10 > 1<<64-1-uint64(c-'0') {
			full = true
			if !point {
				exponent++
			}
			continue
		}
		digits = digits*10 + uint64(c-'0')
		if point {
			exponent--
		}
	}
	if !seen {
		return 0, false
	}
	if i < len(text) {
		if text[i] != 'e' && text[i] != 'E' {
			return 0, false
		}
		e, err := strconv.Atoi(text[i+1:])
		if err != nil || e > 1<<20 || e < -1<<20 {
			return 0, false
		}
		exponent += e
	}
	f := float64(digits)
	for f != 0 && exponent < -308 {
		f /= 1e308
		exponent += 308
	}
	switch {
	case f == 0:
	case exponent > 308:
		return 0, false
	case exponent >= 0:
		f *= pow10(exponent)
	default:
		f /= pow10(-exponent)
	}
	if f > maxFloat {
		return 0, false
	}
	if negative {
		f = -f
	}
	return f, true
}

const maxFloat = 0x1p1023 * (1 + (1 - 0x1p-52))

// pow10 returns the double nearest to 10^n, n from 0 to 308.
func pow10(n int) float64 {
	f, err := strconv.ParseFloat("1e"+strconv.Itoa(n), 64)
	if err != nil {
		panic(err) // no input does this
	}
	return f
}

// readMerges reads ["a b", …] or [["a", "b"], …].
func (d *document) readMerges(dec *jsontext.Decoder) ([][2]string, []int64, error) {
	at := 0
	name := func() string { return "model.merges[" + strconv.Itoa(at) + "]" }
	fail := func(err error) ([][2]string, []int64, error) { return nil, nil, d.syntaxError(err, name()) }
	if _, err := dec.ReadToken(); err != nil {
		return fail(err)
	}
	merges := make([][2]string, 0, d.initialEntries())
	offsets := make([]int64, 0, d.initialEntries())
	var buf []byte
	for ; dec.PeekKind() != ']'; at++ {
		var err error
		var merge [2]string
		switch dec.PeekKind() {
		case '[':
			if _, err = dec.ReadToken(); err != nil {
				return fail(err)
			}
			for i := range merge {
				if buf, err = d.readString(dec, buf, name); err != nil {
					return nil, nil, err
				}
				merge[i] = string(buf)
			}
			token, err := dec.ReadToken()
			if err != nil {
				return fail(err)
			}
			if token.Kind() != ']' {
				return nil, nil, d.errorAt(dec.InputOffset(), name(), "more than two tokens")
			}
		default:
			if buf, err = d.readString(dec, buf, name); err != nil {
				return nil, nil, err
			}
			if bytes.HasPrefix(buf, []byte("#version")) {
				continue
			}
			if bytes.Count(buf, []byte{' '}) != 1 {
				return nil, nil, d.errorAt(dec.InputOffset(), name(), "expected two tokens with a blank between them, found %s", quote(string(buf)))
			}
			line := string(buf)
			i := bytes.IndexByte(buf, ' ')
			merge = [2]string{line[:i], line[i+1:]}
		}
		merges = append(merges, merge)
		offsets = append(offsets, dec.InputOffset())
	}
	if _, err := dec.ReadToken(); err != nil {
		return fail(err)
	}
	return merges, offsets, nil
}

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
