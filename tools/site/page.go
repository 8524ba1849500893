package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	firstPage   = "docs/README.md"
	galleryPage = "docs/gallery/README.md"
)

// A page is a page of the documentation.
type page struct {
	Name  string // of the page of HTML, from the root of the site
	Title string // the heading of level 1
	Parts []part // the headings of level 2

	source   string // from the root of the repository
	markdown []byte
	document ast.Node
	anchors  map[string]bool
	links    map[ast.Node]*page // pages that links lead to
}

// A part is a heading of a page.
type part struct{ Anchor, Title string }

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))),
)

// parse reads a page. source is its file, from the root of the repository.
func parse(source string, content []byte) (*page, error) {
	p := &page{source: source, Name: siteName(source), markdown: content, anchors: map[string]bool{"": true}, links: map[ast.Node]*page{}}
	context := parser.NewContext(parser.WithIDs(&headingIDs{taken: map[string]int{}}))
	p.document = markdown.Parser().Parse(text.NewReader(content), parser.WithContext(context))
	for node := p.document.FirstChild(); node != nil; node = node.NextSibling() {
		heading, ok := node.(*ast.Heading)
		if !ok {
			continue
		}
		anchor, title := anchorOf(heading), plain(heading, content)
		p.anchors[anchor] = true
		switch {
		case heading.Level == 1 && p.Title == "":
			p.Title = title
		case heading.Level == 2:
			p.Parts = append(p.Parts, part{anchor, title})
		}
	}
	if p.Title == "" {
		return nil, fmt.Errorf("%s: the page has no heading of level 1", source)
	}
	return p, nil
}

// siteName returns the name of a file of the repository in the site.
func siteName(source string) string {
	name := strings.TrimPrefix(source, "docs/")
	if base, ok := strings.CutSuffix(name, ".md"); ok {
		if path.Base(base) == "README" {
			base = path.Join(path.Dir(base), "index")
		}
		name = base + ".html"
	}
	return name
}

// resolveLinks turns the links and pictures of a page to files of the repository into
// links of the site, and adds the files that are no pages to files. It returns an error
// for each link that leads nowhere.
func (p *page) resolveLinks(root fs.FS, pages map[string]*page, files map[string][]byte) []error {
	var broken []error
	resolve := func(node ast.Node, destination []byte) []byte {
		name, anchor, _ := strings.Cut(string(destination), "#")
		if strings.Contains(name, "://") {
			return destination
		}
		target := p.source
		if name != "" {
			target = path.Join(path.Dir(p.source), name)
		}
		to, out := pages[target], siteName(target)
		switch {
		case to != nil && to.anchors[anchor]:
			p.links[node] = to
		case to != nil:
			broken = append(broken, fmt.Errorf("%s links to %s: %s has no such heading", p.source, destination, target))
			return destination
		default:
			content, err := fs.ReadFile(root, target)
			if err != nil {
				broken = append(broken, fmt.Errorf("%s links to %s: %w", p.source, destination, err))
				return destination
			}
			out = strings.TrimPrefix(target, "docs/") // as it is
			files[out] = content
		}
		link, err := relative(p.Name, out)
		if err != nil {
			broken = append(broken, err)
		}
		if anchor != "" {
			link += "#" + anchor
		}
		return []byte(link)
	}
	walk(p.document, func(node ast.Node) {
		switch n := node.(type) {
		case *ast.Link:
			n.Destination = resolve(n, n.Destination)
		case *ast.Image:
			n.Destination = resolve(n, n.Destination)
		}
	})
	return broken
}

// walkLinks calls f for each link to another page, in order, with the title of the part
// that holds it; "" before the first part.
func (p *page) walkLinks(f func(part string, to *page)) {
	title := ""
	walk(p.document, func(node ast.Node) {
		if heading, ok := node.(*ast.Heading); ok && heading.Level == 2 {
			title = plain(heading, p.markdown)
		}
		if to := p.links[node]; to != nil && to != p {
			f(title, to)
		}
	})
}

// linkPicture makes the picture of that name lead to a file of the site, and reports whether there is one.
func (p *page) linkPicture(name, to string) bool {
	var picture ast.Node
	walk(p.document, func(node ast.Node) {
		if n, ok := node.(*ast.Image); ok && path.Base(string(n.Destination)) == name {
			picture = n
		}
	})
	if picture == nil {
		return false
	}
	link := ast.NewLink()
	link.Destination = []byte(to)
	picture.Parent().ReplaceChild(picture.Parent(), picture, link)
	link.AppendChild(link, picture)
	return true
}

// html returns the body of the page.
func (p *page) html() ([]byte, error) {
	var b bytes.Buffer
	err := markdown.Renderer().Render(&b, p.markdown, p.document)
	return b.Bytes(), err
}

// An entry is a part of a page, for the search.
type entry struct {
	URL   string `json:"u"`
	Title string `json:"t"` // of the page
	Part  string `json:"p"` // heading; "" before the first one
	Text  string `json:"x"`
}

// entries returns the entries of the page for the search: one for each heading of level 2
// or deeper, and one for the text before them.
func (p *page) entries() []entry {
	all := []entry{{URL: p.Name, Title: p.Title}}
	for node := p.document.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok {
			if heading.Level > 1 {
				all = append(all, entry{URL: p.Name + "#" + anchorOf(heading), Title: p.Title, Part: plain(heading, p.markdown)})
			}
			continue
		}
		last := &all[len(all)-1]
		last.Text = strings.TrimSpace(last.Text + " " + plain(node, p.markdown))
	}
	return all
}

func anchorOf(heading *ast.Heading) string {
	id, _ := heading.AttributeString("id")
	anchor, _ := id.([]byte)
	return string(anchor)
}

// walk calls f for each node below and including node, in the order of the text.
func walk(node ast.Node, f func(ast.Node)) {
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			f(n)
		}
		return ast.WalkContinue, nil
	})
}

// plain returns the text of a node, with single blanks.
func plain(node ast.Node, source []byte) string {
	var b strings.Builder
	walk(node, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			b.Write(n.Lines().Value(source))
		}
		if n.Type() == ast.TypeBlock {
			b.WriteByte(' ')
		}
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// headingIDs gives headings the anchors that GitHub gives them.
type headingIDs struct{ taken map[string]int }

var noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)

func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	anchor := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(string(value)), ""), " ", "-")
	h.taken[anchor]++
	if n := h.taken[anchor]; n > 1 {
		anchor = fmt.Sprintf("%s-%d", anchor, n-1)
	}
	return []byte(anchor)
}

func (h *headingIDs) Put(value []byte) { h.taken[string(value)]++ }
