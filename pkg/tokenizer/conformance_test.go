package tokenizer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// thin is the step through the vectors: the race detector, with which all of them take
// minutes, checks every eighth.
var thin = map[bool]int{true: 8, false: 1}[testenv.Race]

// conformance holds testdata/conformance.json.zst, the results of the Hugging Face library
// for the texts. testdata/generate/conformance.py describes the format.
type conformance struct {
	Texts         []string
	Digits        int
	Normalizers   []componentVectors
	PreTokenizers []componentVectors `json:"pre_tokenizers"`
	Decoders      []struct {
		Config json.RawMessage
		Texts  []string
	}
	DecoderTokens [][]string `json:"decoder_tokens"`
	Tokenizers    []struct {
		Name         string
		Tokenizer    json.RawMessage
		IDs, Special string
		Examples     [][]uint32
	}
}

// componentVectors holds the digests of the texts, joined into one string, and the digests
// of the Unicode blocks likewise.
type componentVectors struct {
	Config        json.RawMessage
	Texts, Blocks string
}

func readConformance(t testing.TB) *conformance {
	t.Helper()
	conformanceOnce.Do(func() {
		if err := json.Unmarshal(golden.Unpack(t, "testdata/conformance.json.zst"), &conformanceRead); err != nil {
			t.Fatal(err)
		}
	})
	return &conformanceRead
}

var (
	conformanceOnce sync.Once
	conformanceRead conformance // set by conformanceOnce
)

// unicodeBlocks are the texts of unicode_blocks in generate/texts.py: all
// assigned characters, each after a letter and before a blank.
func unicodeBlocks() []string {
	var texts []string
	add := func(block rune) {
		var text strings.Builder
		for r := block * 256; r < block*256+256; r++ {
			if r < 0xD800 || r >= 0xE000 {
				text.WriteString("a" + string(r) + " ")
			}
		}
		if text.Len() > 0 {
			texts = append(texts, text.String())
		}
	}
	for block := range rune(0x324) {
		add(block)
	}
	for _, block := range []rune{0xE00, 0xE01, 0xF00, 0xFFF, 0x10FF} {
		add(block)
	}
	return texts
}

// checkBlocks is check for one in blockStride Unicode blocks, from block first on.
func checkBlocks(t *testing.T, blocks []string, want string, digits, first int, function func(string) string) {
	t.Helper()
	stride := blockStride()
	checkSome(t, blocks, want, digits, first%stride, stride, function)
}

// blockStride returns the step through the Unicode blocks. The table-driven classes of
// characters change within few blocks; make test-long checks every block.
func blockStride() int { return testenv.Stride(31) }

// textStride returns the step through the texts: each test begins at another text, and
// make test-long checks every text.
func textStride() int { return testenv.Stride(7) }

// check compares want with the digests of the results of function, for one in textStride
// texts.
func check(t *testing.T, texts []string, want string, digits int, function func(string) string) {
	t.Helper()
	stride := textStride()
	checkSome(t, texts, want, digits, len(t.Name())%stride, stride, function)
}

// checkSome is check for every step-th text from first on.
func checkSome(t *testing.T, texts []string, want string, digits, first, step int, function func(string) string) {
	t.Helper()
	if len(want) != digits*len(texts) {
		t.Fatalf("%d digits for %d texts", len(want), len(texts))
	}
	bad := 0
	for i := first; i < len(texts); i += step * thin {
		text := texts[i]
		got := function(text)
		sum := sha256.Sum256([]byte(got))
		if hex.EncodeToString(sum[:])[:digits] != want[i*digits:(i+1)*digits] {
			if bad++; bad <= 3 {
				t.Errorf("text %d %.200q gives %.300q, the library something else", i, text, got)
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d texts differ", bad, len(texts))
	}
}

// component parses the configuration of a component.
func component(t *testing.T, config []byte) *node {
	t.Helper()
	doc := &document{file: "component.json", data: config}
	n, err := doc.readNode(doc.decoder(), "")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func describe(config []byte) string { return fmt.Sprintf("%.60s", config) }

func TestNormalizers(t *testing.T) {
	c, blocks := readConformance(t), unicodeBlocks()
	for i, v := range c.Normalizers {
		t.Run(describe(v.Config), func(t *testing.T) {
			t.Parallel()
			n, err := readNormalizer(component(t, v.Config))
			if err != nil {
				t.Fatal(err)
			}
			check(t, c.Texts, v.Texts, c.Digits, func(s string) string { return n.normalize(s, longest(len(s))) })
			checkBlocks(t, blocks, v.Blocks, c.Digits, i, func(s string) string { return n.normalize(s, longest(len(s))) })
		})
	}
}

func TestPreTokenizers(t *testing.T) {
	c, blocks := readConformance(t), unicodeBlocks()
	for i, v := range c.PreTokenizers {
		t.Run(describe(v.Config), func(t *testing.T) {
			t.Parallel()
			p, err := readPreTokenizer(component(t, v.Config))
			if err != nil {
				t.Fatal(err)
			}
			cut := func(text string) string {
				if text == "" {
					return ""
				}
				var pieces []string
				for _, piece := range p.cut(nil, piece{text, true}) {
					pieces = append(pieces, piece.text)
				}
				return strings.Join(pieces, "\x00")
			}
			check(t, c.Texts, v.Texts, c.Digits, cut)
			// The general engine is slow, so each of the many regular expressions
			// is checked with a part of Unicode. Together they check all of it.
			step := blockStride()
			if strings.Contains(string(v.Config), "Regex") {
				step *= 3
			}
			checkSome(t, blocks, v.Blocks, c.Digits, i%step, step, cut)
		})
	}
}

func idList(ids []uint32) string {
	var s strings.Builder
	for i, id := range ids {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprint(&s, id)
	}
	return s.String()
}

func TestTokenizers(t *testing.T) {
	c := readConformance(t)
	for _, v := range c.Tokenizers {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			tok, err := Parse("tokenizer.json", v.Tokenizer)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range v.Examples {
				if got := tok.Encode(c.Texts[i]); !slices.Equal(got, want) {
					t.Errorf("Encode(%q) = %v, want %v", c.Texts[i], got, want)
				}
			}
			// Twice: from the model, then from the cache.
			for range 2 {
				check(t, c.Texts, v.IDs, c.Digits, func(text string) string { return idList(tok.Encode(text)) })
			}
			special := func(text string) []uint32 { return tok.AddSpecial(tok.Encode(text)) }
			check(t, c.Texts, v.Special, c.Digits, func(text string) string { return idList(special(text)) })
			for i := 0; i < len(c.Texts); i += textStride() {
				text := c.Texts[i]
				if got, want := tok.Count(text), len(tok.Encode(text)); got != want {
					t.Errorf("Count(%q) = %d, want %d", text, got, want)
				}
			}
		})
	}
}
