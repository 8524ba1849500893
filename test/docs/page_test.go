// Package docs tests README.md and the pages of docs: the blocks run and print what
// the page shows, the Go blocks compile, the links lead somewhere, and the pages of
// flags list the flags of the programs.
//
// A page is read from top to bottom in an empty folder of its own, as a reader would
// paste it. The language of a block says what happens to it:
//
//	```console   commands after "$ ", each with its standard output
//	```sh        one script; its output is not compared
//	```go        a file that must pass go vet
//	```json      one document, or one on each line, that must parse
//	```sql       queries for DuckDB, which make readback runs
//	```python    Python with the package pa, which make test-python runs
//	```text      not run
//
// Numbers are masked before two outputs are compared, a line "…" stands for any text,
// and "# exit code N" behind a command for its exit code. A server listens at
// localhost:8000 (OpenAI), localhost:8001 (Triton over gRPC) and localhost:8080
// (Triton over HTTP) for the time of the test; the tests put the real ports in place.
//
// A comment before a block changes what happens to it:
//
//	<!-- test: parse -->        pa-record and pa-analyze only check the command line
//	<!-- test: skip REASON -->  nothing runs
//	<!-- test: files NAME -->   the files of testdata/golden/NAME.tar.zst appear, and
//	                            this and later blocks of the page compare exactly
//
// A picture images/NAME.svg of a page must be the file NAME.svg that a block of the page makes. A page NAME.html that a
// block of docs/gallery makes has a picture images/NAME.png, which make gallery takes of it.
//
// With -update the tests write outputs without "…", pictures, and the pages of flags. With -gallery they write the
// HTML pages that blocks of docs/gallery make, for the site.
package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/test/golden"
)

var (
	update  = flag.Bool("update", false, "write what the programs print into the pages")
	gallery = flag.String("gallery", "", "write the HTML pages of docs/gallery into this folder")
)

// galleryPage is the page with pictures of HTML pages.
const galleryPage = "docs/gallery/README.md"

// A block is a fenced block of a page.
type block struct {
	line     int    // of the opening fence, from 1
	language string // after the opening fence
	marker   string // of the comment before it, without "test: "
	body     string
}

var (
	indentedCommand = regexp.MustCompile(`^ +(\$ )?(pa-record|pa-analyze) `)
	textCommand     = regexp.MustCompile(`(?m)^(\$ )?(pa-record|pa-analyze|make|go) `)
)

// blocks returns the fenced blocks of a page.
func blocks(t *testing.T, name, text string) []block {
	t.Helper()
	var all []block
	var open *block
	marker := ""
	for i, line := range strings.Split(text, "\n") {
		rest, fence := strings.CutPrefix(line, "```")
		comment, isComment := strings.CutPrefix(line, "<!-- test: ")
		switch {
		case open != nil && fence:
			all = append(all, *open)
			open, marker = nil, ""
		case open != nil:
			open.body += line + "\n"
		case fence:
			open = &block{line: i + 1, language: rest, marker: marker}
		case isComment:
			marker = strings.TrimSuffix(comment, " -->")
		case line != "":
			if marker != "" {
				t.Errorf("%s:%d: no block follows the comment %q", name, i, marker)
			}
			marker = ""
			if strings.HasPrefix(line, "    ") && indentedCommand.MatchString(line) {
				t.Errorf("%s:%d: a command outside a fenced block", name, i+1)
			}
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block has no end", name, open.line)
	}
	return all
}

// pages returns the names of README.md and all pages of docs, from the root of the
// module.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md"}
	err := fs.WalkDir(os.DirFS(golden.Root(t)), "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".md") {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(golden.Root(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Blocks have a language that the package comment lists, and JSON parses.
func TestBlockLanguages(t *testing.T) {
	for _, name := range pages(t) {
		for _, b := range blocks(t, name, read(t, name)) {
			switch b.language {
			case "console", "sh", "go", "sql", "python":
			case "text":
				if textCommand.MatchString(b.body) {
					t.Errorf("%s:%d: a text block with a command; sh and console blocks run", name, b.line)
				}
			case "json":
				d := json.NewDecoder(strings.NewReader(b.body))
				for {
					var v any
					if err := d.Decode(&v); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Errorf("%s:%d: %v", name, b.line, err)
						break
					}
				}
			default:
				t.Errorf("%s:%d: a block of language %q", name, b.line, b.language)
			}
		}
	}
}

var (
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")

	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`) // characters that an anchor leaves out
)

// anchors returns the anchors of the headings of a page without its blocks, as GitHub makes them.
func anchors(text string) map[string]bool {
	all := map[string]bool{"": true}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		anchor := noAnchor.ReplaceAllString(strings.ToLower(m[1]), "")
		all[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	return all
}

// Links within the repository lead to a file, and to a heading of it, and every page
// can be reached from README.md.
func TestLinks(t *testing.T) {
	root := golden.Root(t)
	queue := append([]string{"README.md"}, schemaPages(t)...)
	seen := map[string]bool{}
	texts, headings := map[string]string{}, map[string]map[string]bool{}
	prose := func(name string) string { // the page without its blocks
		if _, ok := texts[name]; !ok {
			texts[name] = fenced.ReplaceAllString(read(t, name), "")
		}
		return texts[name]
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, m := range link.FindAllStringSubmatch(prose(name), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			info, err := os.Stat(filepath.Join(root, filepath.FromSlash(target)))
			switch {
			case err != nil:
				t.Errorf("%s links to %s, which is not there", name, m[1])
			case strings.HasSuffix(target, ".md"):
				if headings[target] == nil {
					headings[target] = anchors(prose(target))
				}
				if !headings[target][anchor] {
					t.Errorf("%s links to %s: %s has no such heading", name, m[1], target)
				}
				queue = append(queue, target)
			case anchor != "" || info.IsDir():
				t.Errorf("%s links to %s, which is no page", name, m[1])
			}
		}
	}
	for _, name := range pages(t) {
		if !seen[name] {
			t.Errorf("no link leads from README.md to %s", name)
		}
	}
}

func schemaPages(t *testing.T) []string {
	t.Helper()
	all, err := fs.Glob(os.DirFS(golden.Root(t)), "schemas/*.md")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d pages in schemas, %v", len(all), err)
	}
	return all
}

// Pages that the sources, schemas and scripts name exist.
func TestNamedPages(t *testing.T) {
	root := golden.Root(t)
	named := regexp.MustCompile(`\b(docs|schemas)/[\w/.-]+\.(md|json)\b`)
	found := 0
	for _, dir := range []string{"Makefile", ".ci", "cmd", "internal", "pkg", "realservers", "schemas", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{"", ".go", ".json", ".sh"}, filepath.Ext(file)) ||
				strings.Contains(file, string(filepath.Separator)+"testdata"+string(filepath.Separator)) {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil || strings.HasSuffix(file, ".pb.go") || !utf8.Valid(text) { // a program built here is no source
				return err
			}
			if !bytes.Contains(text, []byte("docs/")) && !bytes.Contains(text, []byte("schemas/")) {
				return nil // a search for the pattern takes longer
			}
			for _, m := range named.FindAllIndex(text, -1) {
				if m[0] > 0 && strings.ContainsRune("/.", rune(text[m[0]-1])) {
					continue // part of a longer path or address
				}
				found++
				if page := string(text[m[0]:m[1]]); !exists(root, page) {
					t.Errorf("%s names %s, which is not there", file, page)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 5 {
		t.Errorf("%d pages are named: is the pattern right?", found)
	}
}

// Files and folders that the pages for developers name exist.
func TestNamedFiles(t *testing.T) {
	root := golden.Root(t)
	named := regexp.MustCompile("`((?:cmd|docs|internal|pkg|schemas|test|testdata)/[^`*]*)`")
	for _, name := range []string{"docs/adding.md", "docs/development.md"} {
		for _, m := range named.FindAllStringSubmatch(read(t, name), -1) {
			if !strings.Contains(m[1], "NAME") && !exists(root, m[1]) {
				t.Errorf("%s names %s, which is not there", name, m[1])
			}
		}
	}
}

func exists(root, name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

// commands splits a console block into its commands, each with what it prints. A
// command that ends with a backslash goes on in the next line.
func commands(body string) []command {
	var all []command
	continues := false
	for line := range strings.Lines(body) {
		text, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand || continues:
			if isCommand {
				all = append(all, command{})
			}
			c := &all[len(all)-1]
			c.text += text
			continues = strings.HasSuffix(line, "\\\n")
		case len(all) > 0:
			all[len(all)-1].output += line
		}
	}
	return all
}

// A command of a console block.
type command struct{ text, output string }

// exitCode returns the exit code that a command's comment states, "0" without one.
func (c command) exitCode() string {
	_, code, _ := strings.Cut(strings.TrimSuffix(c.text, "\n"), "# exit code ")
	return cmp.Or(code, "0")
}
