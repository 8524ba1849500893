package tokenizer

import (
	"runtime"
	"strings"
	"testing"
)

// Chained Replaces that each make ten bytes of one are an error that names the file,
// before they take memory. The Replaces of real tokenizers are no error.
func TestReplaceGrowth(t *testing.T) { // not parallel: it looks at what is allocated
	const tail = `]},"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`
	tenfold := `{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaa"}`
	byExpression := `{"type":"Replace","pattern":{"Regex":"a"},"content":"` + strings.Repeat("a", 1000) + `"}`
	chain := func(step string) string {
		return `{"normalizer":{"type":"Sequence","normalizers":[` + step + strings.Repeat(","+step, 11) + tail
	}
	for _, tt := range []struct{ name, file, text, want string }{
		{"literals", chain(tenfold), "a", "t.json: Replace makes more than 95 MiB of a text of 10000000 bytes; the limits are 16 MiB, or 3 times the text up to 512 MiB"},
		{"expressions", chain(byExpression), "aaaaaa", "t.json: Replace makes more than 17 MiB of a text of 6000000 bytes"},
		{"blanks", `{"normalizer":{"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":" "},"content":"▁"}` + tail, strings.Repeat(" ", 8<<20), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tok, err := Parse("t.json", []byte(tt.file))
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tok.Count(tt.text)
			runtime.ReadMemStats(&after)
			switch err := tok.Err(); {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)):
				t.Errorf("Err() = %v, want %q", err, tt.want)
			}
			if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 1024 {
				t.Errorf("%d MiB were allocated", n)
			}
		})
	}
}
