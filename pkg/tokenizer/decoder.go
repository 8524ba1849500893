package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A decoder turns tokens into parts of a text. It may change the slice. If the parts have
// more than most bytes together, they may be incomplete, and the caller refuses them. A
// decoder is safe for concurrent use.
type decoder interface {
	decode(tokens []string, most int) []string
}

// decodeTokens returns the text of tokens. A text of more than most bytes may be
// incomplete.
func decodeTokens(d decoder, tokens []string, most int) string {
	if d == nil {
		return strings.Join(tokens, " ")
	}
	return strings.Join(d.decode(tokens, most), "")
}

// readDecoder builds the decoder of a description. It returns nil for null.
func readDecoder(n *node) (decoder, error) {
	if n.isNull() {
		return nil, nil
	}
	name, err := n.typeName()
	if err != nil {
		return nil, err
	}
	switch name {
	case "Sequence":
		all, err := readSequence(n, "decoders", "decoder", readDecoder)
		return decoderSequence(all), err
	case "ByteLevel":
		return byteLevelDecoder{}, nil
	case "ByteFallback":
		return byteFallbackDecoder{}, nil
	case "Fuse":
		return fuseDecoder{}, nil
	case "Metaspace":
		return readMetaspace(n)
	case "Replace":
		return readReplace(n)
	case "Strip":
		return readStripDecoder(n)
	case "WordPiece":
		return readWordPieceDecoder(n)
	case "BPEDecoder":
		suffix, err := n.wantString("suffix")
		return suffixDecoder(suffix), err
	case "CTC":
		return readCTCDecoder(n)
	}
	return nil, n.errorf("decoder %s is not supported", quote(name))
}

// A decoderSequence applies its decoders in order.
type decoderSequence []decoder

func (all decoderSequence) decode(tokens []string, most int) []string {
	for _, d := range all {
		if tokens = d.decode(tokens, most); totalLength(tokens) > most {
			break
		}
	}
	return tokens
}

// totalLength returns the bytes of all tokens.
func totalLength(tokens []string) int {
	n := 0
	for _, t := range tokens {
		n += len(t)
	}
	return n
}

// fuseDecoder joins all tokens into one.
type fuseDecoder struct{}

func (fuseDecoder) decode(tokens []string, _ int) []string {
	return []string{strings.Join(tokens, "")}
}

// byteFallbackDecoder decodes runs of tokens such as <0x0A> as UTF-8. An invalid run
// becomes one U+FFFD per token.
type byteFallbackDecoder struct{}

func (byteFallbackDecoder) decode(tokens []string, _ int) []string {
	out := make([]string, 0, len(tokens))
	var run []byte
	flush := func() {
		if utf8.Valid(run) {
			if len(run) > 0 {
				out = append(out, string(run))
			}
		} else {
			for range run {
				out = append(out, "\uFFFD")
			}
		}
		run = run[:0]
	}
	for _, t := range tokens {
		if b, ok := parseByteToken(t); ok {
			run = append(run, b)
			continue
		}
		flush()
		out = append(out, t)
	}
	flush()
	return out
}

// parseByteToken parses a token such as <0x0A>. As in the library, "+A" is a number.
func parseByteToken(t string) (byte, bool) {
	if len(t) != 6 || !strings.HasPrefix(t, "<0x") || t[5] != '>' {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(t[3:5], "+"), 16, 8)
	return byte(n), err == nil
}

// stripDecoder removes up to start and stop occurrences of a character from the two ends
// of each token.
type stripDecoder struct {
	content     rune
	start, stop int
}

func readStripDecoder(n *node) (decoder, error) {
	content, err := n.wantRune("content")
	if err != nil {
		return nil, err
	}
	start, err := n.wantUint32("start")
	if err != nil {
		return nil, err
	}
	stop, err := n.wantUint32("stop")
	return stripDecoder{content, int(start), int(stop)}, err
}

func (d stripDecoder) decode(tokens []string, _ int) []string {
	c := string(d.content)
	for i, t := range tokens {
		for n := 0; n < d.start && strings.HasPrefix(t, c); n++ {
			t = t[len(c):]
		}
		for n := 0; n < d.stop && strings.HasSuffix(t, c); n++ {
			t = t[:len(t)-len(c)]
		}
		tokens[i] = t
	}
	return tokens
}

// wordPieceDecoder leaves the first token as it is. From each later token it removes the
// prefix, or puts a blank before it if it has no prefix.
type wordPieceDecoder struct {
	prefix  string
	cleanup bool
}

func readWordPieceDecoder(n *node) (decoder, error) {
	prefix, err := n.wantString("prefix")
	if err != nil {
		return nil, err
	}
	cleanup, err := n.wantBool("cleanup")
	return wordPieceDecoder{prefix, cleanup}, err
}

func (d wordPieceDecoder) decode(tokens []string, _ int) []string {
	for i, t := range tokens {
		if i > 0 {
			if rest, ok := strings.CutPrefix(t, d.prefix); ok {
				t = rest
			} else {
				t = " " + t
			}
		}
		if d.cleanup {
			t = cleanup(t)
		}
		tokens[i] = t
	}
	return tokens
}

// cleanup removes blanks before English punctuation and contractions, and contracts "do
// not", in the library's order.
func cleanup(s string) string {
	for _, pair := range [][2]string{
		{" .", "."},
		{" ?", "?"},
		{" !", "!"},
		{" ,", ","},
		{" ' ", "'"},
		{" n't", "n't"},
		{" 'm", "'m"},
		{" do not", " don't"},
		{" 's", "'s"},
		{" 've", "'ve"},
		{" 're", "'re"},
	} {
		s = strings.ReplaceAll(s, pair[0], pair[1])
	}
	return s
}

// suffixDecoder is the decoder BPEDecoder: it replaces the suffix that marks the end of a
// word by a blank, or by nothing at the end of the text.
type suffixDecoder string

func (d suffixDecoder) decode(tokens []string, _ int) []string {
	for i, t := range tokens {
		with := " "
		if i == len(tokens)-1 {
			with = ""
		}
		tokens[i] = strings.ReplaceAll(t, string(d), with)
	}
	return tokens
}

// ctcDecoder is the decoder CTC: it removes repeated tokens and padding. With cleanup, it
// also writes the delimiter of words as a blank.
type ctcDecoder struct {
	pad, delimiter string
	cleanup        bool
}

func readCTCDecoder(n *node) (decoder, error) {
	var d ctcDecoder
	var err error
	if d.pad, err = n.wantString("pad_token"); err != nil {
		return nil, err
	}
	if d.delimiter, err = n.wantString("word_delimiter_token"); err != nil {
		return nil, err
	}
	d.cleanup, err = n.wantBool("cleanup")
	return d, err
}

func (d ctcDecoder) decode(tokens []string, _ int) []string {
	out := make([]string, 0, len(tokens))
	for i, t := range tokens {
		if i > 0 && t == tokens[i-1] {
			continue
		}
		t = strings.ReplaceAll(t, d.pad, "")
		if d.cleanup {
			t = strings.ReplaceAll(cleanup(t), d.delimiter, " ")
		}
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
