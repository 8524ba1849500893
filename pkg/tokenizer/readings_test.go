package tokenizer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
)

// readings holds testdata/readings.json.zst, the results of transformers 5 for the files of
// each case.
type readings struct {
	Transformers string
	Digits       int
	Texts        []string
	Cases        []struct {
		Name, Tokenizer string
		Config, Model   json.RawMessage
		Class           string
		IDs, Special    string
	}
}

func readReadings(t testing.TB) *readings {
	t.Helper()
	var r readings
	if err := json.Unmarshal(golden.Unpack(t, "testdata/readings.json.zst"), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// writeFiles copies a tokenizer.json of testdata/tokenizers and writes the other files of
// the model beside it.
func writeFiles(t testing.TB, tokenizer string, config, model []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	data, err := os.ReadFile(filepath.Join("../../testdata/tokenizers", tokenizer, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tokenizer.json": data, "tokenizer_config.json": config, "config.json": model} {
		if len(content) == 0 || string(content) == "null" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func digestOf(s string, digits int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digits]
}

func idsText(ids []uint32) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(uint64(id), 10))
	}
	return b.String()
}

// Ids, special tokens and decoded text equal the output of transformers 5, for every
// class, kind of model and option.
func TestTransformers5(t *testing.T) {
	t.Parallel()
	r := readReadings(t)
	for _, c := range r.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			tok, err := LoadAs(writeFiles(t, c.Tokenizer, c.Config, c.Model), Transformers5)
			if err != nil {
				t.Fatal(err)
			}
			class := c.Class
			if class == "TokenizersBackend" { // tokenizer.json as it is
				class = ""
			}
			if got := tok.Class(); got != class {
				t.Errorf("Class() = %q, want %q", got, class)
			}
			bad := 0
			check := func(what, text, got, all string, i int) {
				if want := all[i*r.Digits : (i+1)*r.Digits]; digestOf(got, r.Digits) != want && bad < 5 {
					bad++
					t.Errorf("%s of %q is %q, whose digest is not %s", what, text, got, want)
				}
			}
			for i := len(c.Name) % textStride(); i < len(r.Texts); i += textStride() {
				text := r.Texts[i]
				ids := tok.Encode(text)
				check("Encode", text, idsText(ids), c.IDs, i)
				check("AddSpecial", text, idsText(tok.AddSpecial(ids)), c.Special, i)
				if n := tok.Count(text); n != len(ids) {
					t.Errorf("Count(%q) = %d, want %d", text, n, len(ids))
				}
			}
		})
	}
}

// The two readings of LLaMA differ most often for texts that begin with a blank.
func TestReadings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reading Reading
		config  string
		text    string
		want    int
	}{
		{Transformers4, `{"tokenizer_class":"LlamaTokenizer"}`, " about about", 3},
		{Transformers5, `{"tokenizer_class":"LlamaTokenizer"}`, " about about", 2},
		{Transformers5, `{"tokenizer_class":"LlamaTokenizer","legacy":false}`, " about about", 2},
		{Transformers5, `{}`, " about about", 3},
		{Transformers5, ``, " about about", 3},
		{Transformers4, `{"tokenizer_class":"LlamaTokenizer"}`, "about", 1},
		{Transformers5, `{"tokenizer_class":"LlamaTokenizer"}`, "about", 1},
	} {
		tok, err := LoadAs(writeFiles(t, "tok-llama", []byte(tc.config), nil), tc.reading)
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Count(tc.text); got != tc.want {
			t.Errorf("%v, %s: Count(%q) = %d, want %d", tc.reading, tc.config, tc.text, got, tc.want)
		}
	}
}

// A note names tokenizers that transformers 5 cannot read, or reads by rules that this
// package does not know.
func TestTransformers5Limits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name          string
		config, model string
		wantErr       string
		wantNote      string
	}{
		{name: "class of other rules", config: `{"tokenizer_class":"T5TokenizerFast"}`, wantNote: "transformers 5 reads this file as a T5Tokenizer, whose rules pa-analyze does not know"},
		{name: "class is no string", config: `{"tokenizer_class":1}`, wantErr: "tokenizer_class: expected a string, found a number"},
		{name: "config.json is no object", config: `{}`, model: `[]`, wantErr: "config.json: line 1: expected an object, found an array"},
		{name: "legacy is no boolean", config: `{"tokenizer_class":"LlamaTokenizer","legacy":"x"}`, wantErr: "legacy: expected a boolean, found a string"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := writeFiles(t, "tok-llama", []byte(tc.config), []byte(tc.model))
			tok, err := LoadAs(dir, Transformers5)
			switch {
			case tc.wantErr != "":
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("LoadAs: %v, want %q", err, tc.wantErr)
				}
			case err != nil:
				t.Error(err)
			case !strings.Contains(strings.Join(tok.Notes(), "\n"), tc.wantNote):
				t.Errorf("Notes() = %q, want %q", tok.Notes(), tc.wantNote)
			}
		})
	}
	t.Run("model is no BPE", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		for name, content := range map[string]string{
			"tokenizer.json":        `{"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`,
			"tokenizer_config.json": `{"tokenizer_class":"LlamaTokenizer"}`,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Load(dir); err != nil {
			t.Errorf("Load: %v", err)
		}
		const want = "transformers 5 reads a LlamaTokenizer as a BPE model, and this is a WordLevel model"
		if _, err := LoadAs(dir, Transformers5); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("LoadAs: %v, want %q", err, want)
		}
	})
}

func TestParseReading(t *testing.T) {
	t.Parallel()
	for _, want := range []Reading{Transformers4, Transformers5} {
		if got, err := ParseReading(want.String()); got != want || err != nil {
			t.Errorf("ParseReading(%q) = %v, %v", want, got, err)
		}
	}
	if _, err := ParseReading("transformers-6"); err == nil {
		t.Error("ParseReading takes transformers-6")
	}
}
