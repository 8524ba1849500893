package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// repository is a small documentation: two pages, a file and a page of schemas.
func repository() fstest.MapFS {
	return fstest.MapFS{
		firstPage:               {Data: []byte("# Documentation\n\nBegin with [the start](start.md).\n\n## Tasks\n\n[Look up](reference/a.md#two-words) · [start](start.md)\n")},
		"docs/start.md":         {Data: []byte("# Start\n\n<!-- test: skip -->\n```console\n$ pa-record a \\\n    b\n1 < 2\n$ ls\n```\n\nA [file](../schemas/a.schema.json), a [page of another folder](../examples/README.md).\n")},
		"docs/reference/a.md":   {Data: []byte("# A\n\n## Two words\n\n| x |\n|---|\n| `y` |\n\n[Columns](../../schemas/columns.md)\n\n## Two words\n")},
		"examples/README.md":    {Data: []byte("# Examples\n")},
		"schemas/columns.md":    {Data: []byte("# Columns\n\n[Back](../docs/README.md)\n")},
		"schemas/a.schema.json": {Data: []byte("{}")},
	}
}

func TestBuild(t *testing.T) {
	s, err := build(repository(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, holds string }{
		{"index.html", `<a href="reference/a.html#two-words">Look up</a>`},
		{"index.html", `<li><a href="index.html" aria-current="page">Documentation</a></li>`},
		{"index.html", `<li><a href="start.html">Start</a></li>`},
		{"start.html", "<span class=\"prompt\">$ </span><b>pa-record a \\\n</b><b>    b\n</b>1 &lt; 2\n<span class=\"prompt\">$ </span><b>ls\n</b>"},
		{"start.html", `<a href="schemas/a.schema.json">file</a>`},
		{"reference/a.html", `<h2 id="two-words-1">`},
		{"reference/a.html", `<div class="table" tabindex="0"><table>`},
		{"reference/a.html", `<a href="../schemas/columns.html">Columns</a>`},
		{"reference/a.html", `<a class="home" href="../index.html">`},
		{"schemas/columns.html", `<a href="../index.html">Back</a>`},
		{"schemas/a.schema.json", "{}"},
		{"start.html", `<a href="examples/README.md">page of another folder</a>`},
		{"examples/README.md", "# Examples"},
		{"search.js", `{"u":"reference/a.html#two-words","t":"A","p":"Two words","x":"x y Columns"}`},
	} {
		if !strings.Contains(string(s.files[tt.name]), tt.holds) {
			t.Errorf("%s lacks %s:\n%s", tt.name, tt.holds, s.files[tt.name])
		}
	}
	if strings.Contains(string(s.files["start.html"]), "test: skip") {
		t.Error("start.html holds a comment of its source")
	}
	if s.pages != 4 || len(s.files) != 4+2+3 {
		t.Errorf("%d pages of %d files, want 4 of 9", s.pages, len(s.files))
	}
}

// Pictures of the gallery lead to its pages, each of which needs a picture.
func TestGallery(t *testing.T) {
	r := repository()
	r["docs/README.md"] = &fstest.MapFile{Data: []byte("# Documentation\n\n[Gallery](gallery/README.md) [Start](start.md) [A](reference/a.md)\n")}
	r[galleryPage] = &fstest.MapFile{Data: []byte("# Gallery\n\n![A *sweep*](images/sweep.png)\n")}
	r["docs/gallery/images/sweep.png"] = &fstest.MapFile{Data: []byte("png")}
	s, err := build(r, fstest.MapFS{"sweep.html": {Data: []byte("page")}})
	if err != nil {
		t.Fatal(err)
	}
	want := `<a href="sweep.html"><img src="images/sweep.png" alt="A sweep"></a>`
	if got := string(s.files["gallery/index.html"]); !strings.Contains(got, want) || string(s.files["gallery/sweep.html"]) != "page" {
		t.Errorf("no %s, or no page:\n%s", want, got)
	}
	for _, tt := range []struct {
		gallery fstest.MapFS
		says    string
	}{
		{fstest.MapFS{"other.html": {}}, "docs/gallery/README.md shows no picture of other.html"},
		{fstest.MapFS{}, "the gallery has 0 pages"},
	} {
		if _, err := build(r, tt.gallery); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("error %v, want %q", err, tt.says)
		}
	}
}

// A link that leads nowhere, and a page without a place in the navigation, are errors.
func TestBuildErrors(t *testing.T) {
	for _, tt := range []struct{ name, page, text, says string }{
		{"no such page", "docs/start.md", "# Start\n\n[x](gone.md)\n", "docs/start.md links to gone.md: open docs/gone.md: file does not exist"},
		{"no such heading", "docs/start.md", "# Start\n\n[x](reference/a.md#three)\n", "docs/start.md links to reference/a.md#three: docs/reference/a.md has no such heading"},
		{"no such heading of its own", "docs/start.md", "# Start\n\n[x](#three)\n", "docs/start.md has no such heading"},
		{"no such picture", "docs/start.md", "# Start\n\n![x](x.png)\n", "docs/start.md links to x.png"},
		{"outside the repository", "docs/start.md", "# Start\n\n[x](../../x.md)\n", "docs/start.md links to ../../x.md"},
		{"no title", "docs/start.md", "text\n", "docs/start.md: the page has no heading of level 1"},
		{"not in the navigation", "docs/other.md", "# Other\n", "docs/other.md: docs/README.md does not link to it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := repository()
			r[tt.page] = &fstest.MapFile{Data: []byte(tt.text)}
			if _, err := build(r, nil); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
		})
	}
	if _, err := build(fstest.MapFS{}, nil); err == nil || !strings.Contains(err.Error(), "docs/README.md is missing") {
		t.Errorf("of an empty folder: error %v", err)
	}
}

// All links of this repository's documentation lead somewhere, and no page needs the network.
func TestDocumentation(t *testing.T) {
	s, err := build(os.DirFS("../.."), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range s.files {
		for _, attribute := range []string{`src="http`, `<link rel="stylesheet" href="http`, "@import", "url(http"} {
			if strings.HasSuffix(name, "html") && strings.Contains(string(content), attribute) {
				t.Errorf("%s holds %s", name, attribute)
			}
		}
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	old := dir + "/site/old.html"
	if err := os.MkdirAll(dir+"/site", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &site{files: map[string][]byte{"a/b.html": []byte("b")}}
	if err := s.write(dir + "/site"); err == nil || !strings.Contains(err.Error(), "holds other files than a site") {
		t.Errorf("into a folder of something else: %v", err)
	}
	if _, err := os.Stat(old); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(dir+"/site/search.js", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.write(dir + "/site"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(dir + "/site/a/b.html"); err != nil || string(b) != "b" {
		t.Errorf("a/b.html: %q, %v", b, err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("a file of an earlier site stays: %v", err)
	}
}
