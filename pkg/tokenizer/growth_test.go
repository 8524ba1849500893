package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// longSteps returns normalizers, in the format of tokenizer.json, that turn a few bytes
// into more than memory holds.
func longSteps() map[string]string {
	return map[string]string{
		"Replace of a literal":        repeated(12, `{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaa"}`),
		"Replace of an expression":    repeated(12, `{"type":"Replace","pattern":{"Regex":"a"},"content":"aaaaaaaaaa"}`),
		"Replace of blanks":           `{"type":"Prepend","prepend":"  "},` + repeated(12, `{"type":"Replace","pattern":{"Regex":" {2,}"},"content":"  a  a  a  a  "}`),
		"Prepend":                     repeated(100, `{"type":"Prepend","prepend":"`+strings.Repeat("x", 100_000)+`"}`),
		"Prepend behind added tokens": `{"type":"Prepend","prepend":"` + strings.Repeat("x", 500_000) + `"}`,
		"ByteLevel":                   repeated(40, `{"type":"ByteLevel"}`),
		"Precompiled":                 repeated(12, `{"type":"Precompiled","precompiled_charsmap":"`+charsmap('a', strings.Repeat("a", 1000))+`"}`),
		"Precompiled of a character":  repeated(12, `{"type":"Precompiled","precompiled_charsmap":"`+charsmap(0xC3, strings.Repeat("é", 1000))+`"}`),
		"BertNormalizer":              repeated(12, `{"type":"Replace","pattern":{"String":"é"},"content":"東東東"},{"type":"Replace","pattern":{"String":"東"},"content":"éé"},{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":false,"lowercase":false}`),
		"NFKD":                        repeated(25, `{"type":"Replace","pattern":{"Regex":"[a\\x{627}]"},"content":"\uFDFA\uFDFA"},{"type":"NFKD"}`),
	}
}

func repeated(n int, step string) string {
	return strings.TrimSuffix(strings.Repeat(step+",", n), ",")
}

// charsmap returns a Precompiled table, in base64, that writes text for each string
// that begins with a byte.
func charsmap(b byte, text string) string {
	units := make([]uint32, 512)
	units[0] = 256 << 10                           // the children of the root are at 256 ^ byte
	units[256^int(b)] = uint32(b) | 1<<8 | 256<<10 // a string ends here; its value is at 256 ^ byte ^ 256
	units[int(b)] = 1 << 31                        // offset 0
	data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		data = binary.LittleEndian.AppendUint32(data, u)
	}
	return base64.StdEncoding.EncodeToString(append(append(data, text...), 0))
}

// A tokenizer whose normalizers would turn a few bytes into gigabytes counts nothing,
// returns an error from Err, and takes little memory, with any kind of normalizer.
func TestNormalizerGrowth(t *testing.T) { // not parallel: it measures allocations
	testenv.NoRace(t)
	const tail = `]},"added_tokens":[{"id":1,"content":"<s>","special":true}],"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`
	for name, steps := range longSteps() {
		t.Run(name, func(t *testing.T) {
			tok, err := Parse("t.json", []byte(`{"normalizer":{"type":"Sequence","normalizers":[`+steps+tail))
			if err != nil {
				t.Fatal(err)
			}
			var n int
			allocated := measured(func() { n, err = tok.TryCount("aé<s>aé<s>aé<s>aé") })
			const want = "t.json: its normalizer makes more than 1048576 bytes of a text of 21 bytes, so the text was not counted"
			if err == nil || err.Error() != want {
				t.Errorf("TryCount = %d, %v, want %q", n, err, want)
			}
			if err := tok.Err(); err == nil || err.Error() != want {
				t.Errorf("Err() = %v, want %q", err, want)
			}
			if allocated > 256<<20 {
				t.Errorf("%d MiB were allocated", allocated>>20)
			}
			if n, err := tok.TryCount("<s>"); n != 1 || err != nil {
				t.Errorf("TryCount of another text = %d, %v, want 1", n, err)
			}
			if name != "Precompiled" && !testenv.IsLong() {
				return // the error for a repeated text does not depend on the normalizer
			}
			if n, err := tok.TryCount("aé<s>aé<s>aé<s>aé"); err == nil || err.Error() != want {
				t.Errorf("TryCount = %d, %v, want %q", n, err, want)
			}
		})
	}
}

// Pre-tokenizers that double the text in turn, and a normalizer that makes megabytes of
// the added tokens, are refused when the file is read.
func TestGrowthOfTheFile(t *testing.T) {
	t.Parallel()
	const model = `"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`
	bytes := `{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}`
	refused(t, `{"pre_tokenizer":{"type":"Sequence","pretokenizers":[`+repeated(2, bytes)+`,{"type":"Sequence","pretokenizers":[`+repeated(30, bytes)+`]}]},`+model,
		"t.json: line 1: pre_tokenizer: 32 pre-tokenizers that make text longer (ByteLevel, Metaspace); at most 2 are supported")
	refused(t, `{"normalizer":{"type":"Sequence","normalizers":[`+repeated(12, `{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaa"}`)+`]},"added_tokens":[{"id":1,"content":"a","normalized":true}],`+model,
		"t.json: line 1: added_tokens: the normalizer makes more than 1048576 bytes of the tokens, which have 1 bytes")
	dir := t.TempDir()
	for name, content := range map[string]string{
		"tokenizer.json":        `{"normalizer":{"type":"Sequence","normalizers":[` + repeated(12, `{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaa"}`) + `]},` + model,
		"tokenizer_config.json": `{"added_tokens_decoder":{"1":{"content":"a a","normalized":true}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const want = "tokenizer_config.json: line 1: added_tokens_decoder: the normalizer makes more than 1048576 bytes of the tokens, which have 3 bytes"
	if _, err := Load(dir); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("Load: %v, want %q", err, want)
	}
}

// Tokens that are looked for at each place of a text have a bounded length: a text of 200 kB that such
// a token almost matches at each place took minutes.
func TestLongTokens(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 5000)
	const model, is = `"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`, `token "aaaaaaaaaaaaaaaaaaaa"… has 5000 bytes; at most 4096 are supported`
	refused(t, `{"model":{"type":"Unigram","unk_id":0,"vocab":[["a",0],["`+long+`",-1]]}}`, "t.json: line 1: model: "+is)
	refused(t, `{"model":{"type":"WordPiece","unk_token":"a","continuing_subword_prefix":"","max_input_chars_per_word":100,"vocab":{"a":0,"`+long+`":1}}}`, "t.json: line 1: model: "+is)
	refused(t, `{"added_tokens":[{"id":1,"content":"`+long+`"}],`+model, "t.json: line 1: added_tokens[0]: "+is)
	refused(t, `{"normalizer":{"type":"Replace","pattern":{"String":"b"},"content":"`+long+`"},"added_tokens":[{"id":1,"content":"b","normalized":true}],`+model,
		"t.json: line 1: added_tokens: after the normalizer, "+is)
	if _, err := Parse("t.json", []byte(`{"added_tokens":[{"id":1,"content":"`+long[:4096]+`"}],`+model)); err != nil {
		t.Error(err)
	}
}

func refused(t *testing.T, file, want string) {
	t.Helper()
	if _, err := Parse("t.json", []byte(file)); err == nil || err.Error() != want {
		t.Errorf("Parse: %v, want %q", err, want)
	}
}

// Texts that grow under ordinary steps are counted, even large texts.
func TestHonestGrowth(t *testing.T) {
	t.Parallel()
	n := 1 << 19 / testenv.Stride(8)
	for _, tt := range []struct{ name, steps, text string }{
		{"blanks", `{"type":"Replace","pattern":{"String":" "},"content":"▁"}`, strings.Repeat(" ", 8*n)},
		{"NFKD", `{"type":"NFKD"}`, strings.Repeat("\uFDFA", n)},
		{"syllables as bytes", `{"type":"NFD"},{"type":"ByteLevel"}`, strings.Repeat("각", n)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tok, err := Parse("t.json", []byte(`{"normalizer":{"type":"Sequence","normalizers":[`+tt.steps+`]},"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`))
			if err != nil {
				t.Fatal(err)
			}
			if n := tok.Count(tt.text); n != 1 || tok.Err() != nil {
				t.Errorf("Count = %d, Err() = %v", n, tok.Err())
			}
		})
	}
}

// measured returns the bytes that do allocated.
func measured(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
