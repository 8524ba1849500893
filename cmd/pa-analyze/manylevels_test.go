package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

// A page of very many levels has a row for each level and all parts of the first 500 levels, and
// says so.
func TestPageOfManyLevels(t *testing.T) {
	var levels [][]export.Request
	for range 503 {
		levels = append(levels, []export.Request{memrun.OpenAI(memrun.Delta("a"), memrun.Done)})
	}
	dir := t.TempDir()
	file, page := filepath.Join(dir, "run.json"), filepath.Join(dir, "page.html")
	exporttest.Write(t, file, memrun.New("openai", levels...))
	if res := exec(t, "", "html", file, "-o", page); res.code != 0 {
		t.Fatal(res.stderr)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, v := range []struct {
		text string
		n    int
	}{
		{"The page shows all parts of the first 500 levels of 503.", 1},
		{`<th scope="row">concurrency 503</th>`, 1},
		{`<div data-of="0/499"><h3>concurrency 500</h3>`, 3}, // metrics, heat maps, prompts
		{`<div data-of="0/500">`, 0},
		{`<option>concurrency 500</option>`, 1},
		{`<option>concurrency 501</option>`, 0},
	} {
		if n := strings.Count(text, v.text); n != v.n {
			t.Errorf("%q stands %d times on the page, want %d", v.text, n, v.n)
		}
	}
}
