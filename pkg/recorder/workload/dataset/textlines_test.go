package dataset

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTextLines checks that each line of a file named .txt is a prompt, unless the file holds
// JSON.
func TestTextLines(t *testing.T) {
	for _, tt := range []struct {
		name, file, in string
		o              Options
		want           []string
		notes          []string
		err            string
	}{
		{name: "lines", file: "p.txt", in: "Why is the sky blue?\nTell me <a> story & another.\n", want: []string{`"Why is the sky blue?"`, `"Tell me <a> story & another."`}},
		{name: "no line end at the end", file: "p.txt", in: "a\nb", want: []string{`"a"`, `"b"`}},
		{name: "CR LF and a byte order mark", file: "P.TXT", in: "\ufeffa\r\n\r\nb \r\n", want: []string{`"a"`, `"b "`}},
		{name: "blank lines", file: "p.txt", in: "\n \t\na\n\n\n  b\n\n", want: []string{`"a"`, `"  b"`}},
		{name: "many blank lines first", file: "p.txt", in: strings.Repeat("\n", 100<<10) + "a", want: []string{`"a"`}},
		{name: "like a table", file: "p.txt", in: "prompt\nred, green, blue\n", want: []string{`"prompt"`, `"red, green, blue"`}},
		{name: "like an array", file: "p.txt", in: "[1, 2\n", want: []string{`"[1, 2"`}},
		{name: "like Parquet", file: "p.txt", in: "PAR1 is a magic number\n", want: []string{`"PAR1 is a magic number"`}},
		{name: "like a placeholder", file: "p.txt", in: "{you} and [me]\n", want: []string{`"{you} and [me]"`}},
		{name: "JSON Lines of any name", file: "p.txt", in: "{\"prompt\":\"a\"}\n{ \"prompt\":\"b\"}\n", want: []string{`"a"`, `"b"`}},
		{name: "an array of any name", file: "p.txt", in: "[\n {\"prompt\":\"a\"}]\n", want: []string{`"a"`}},
		{name: "the layout of prompts", file: "p.txt", in: "a\n", o: Options{Layout: "prompts"}, want: []string{`"a"`}},
		{name: "another layout", file: "p.txt", in: "{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}]}\n", o: Options{Layout: "sharegpt"}, want: []string{`"a"`}},
		{name: "only the last suffix counts", file: "p.txt.jsonl", in: "{\"prompt\":\"a\"}\n", want: []string{`"a"`}},

		{name: "empty", file: "p.txt", err: "is empty (0 bytes)"},
		{name: "only blank lines", file: "p.txt", in: "\ufeff\r\n \n", err: "has only blank lines; expected a prompt on each line"},
		{name: "not UTF-8", file: "p.txt", in: "a\n\ncaf\xe9\n", err: "line 3: is not UTF-8; save the file as UTF-8"},
		{name: "UTF-16", file: "p.txt", in: "\xff\xfea\x00\n\x00", err: "is text in UTF-16; save the file as UTF-8"},
		{name: "a line too long", file: "p.txt", in: "a\n" + strings.Repeat("b", 100), o: Options{MaxRowBytes: 50}, err: "line 2: 100 bytes long; a row may have at most 50"},
		{name: "text in another layout", file: "p.txt", in: "Tell me a story\n", o: Options{Layout: "sharegpt"}, err: `it begins with "Tell me a story\n"; only the layout prompts has plain text, not sharegpt`},
		{name: "another name", file: "p", in: "Tell me a story\n", err: "to send each line as a prompt, give the file a name that ends in .txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := open(t, tt.file, tt.in, tt.o)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.file+": "+tt.err) && !strings.HasSuffix(err.Error(), tt.err) {
					t.Fatalf("%v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, all(t, s)); d != "" {
				t.Error(d)
			}
			var notes []string
			for _, n := range s.Notes() {
				_, n, _ = strings.Cut(n, tt.file+": ")
				notes = append(notes, n)
			}
			if d := cmp.Diff(tt.notes, notes); d != "" {
				t.Error(d)
			}
			if l := s.Files()[0].Layout; l != "prompts" && l != tt.o.Layout {
				t.Errorf("layout %s", l)
			}
		})
	}
}

// TestCompressedIsTheSame checks that a compressed file has the rows and the hash of its
// content, also with runs of blanks longer than CutBlanks keeps in JSON.
func TestCompressedIsTheSame(t *testing.T) {
	blanks := strings.Repeat(" ", 5000)
	for name, text := range map[string]string{
		"p.txt":     "a, b\nc\n",
		"inst.txt":  "[INST] \"Say" + blanks + "it [/INST]\n" + blanks + "{x}\n",
		"name.txt":  "{name} is" + blanks + "here\n",
		"dent.txt":  blanks + "a" + blanks + "b\n",
		"rows.json": blanks + "[" + blanks + `{"prompt":` + blanks + `"a` + blanks + `b"}]` + blanks,
		"p.jsonl":   `{"prompt":"a"}` + strings.Repeat("\n", 5000) + `{"prompt":"b"}`,
		"p.csv":     "prompt,x\n\"[INST]" + blanks + "a\",1\n",
	} {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		plain, err := open(t, name, text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		packed, err := open(t, name+".gz", b.String(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(all(t, plain), all(t, packed)); d != "" || len(all(t, packed)) == 0 {
			t.Errorf("%s: rows: %s", name, d)
		}
		if p, q := plain.Files()[0].SHA256, packed.Files()[0].SHA256; p != q || q == "" {
			t.Errorf("%s: hash %s, compressed %s", name, p, q)
		}
	}
}
