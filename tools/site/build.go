package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed assets
var assets embed.FS

// A site holds the files of a finished site, by their names.
type site struct {
	files map[string][]byte
	pages int
}

// A navSection is a part of the navigation: a heading of docs/README.md and the pages
// that are linked below it.
type navSection struct {
	Title string
	Pages []*page
}

// build makes the site of the repository root, with the pages of the gallery unless gallery is nil. The error lists all
// links that lead nowhere.
func build(root, gallery fs.FS) (*site, error) {
	pages, err := readPages(root)
	if err != nil {
		return nil, err
	}
	s := &site{files: map[string][]byte{}, pages: len(pages)}
	var broken []error
	for _, p := range pages {
		broken = append(broken, p.resolveLinks(root, pages, s.files)...)
	}
	if gallery != nil {
		if err := s.addGallery(gallery, pages[galleryPage]); err != nil {
			return nil, err
		}
	}
	nav, err := navigation(pages)
	if err := errors.Join(append(broken, err)...); err != nil {
		return nil, err
	}
	layout, err := template.New("page.html").Funcs(template.FuncMap{"relative": relative}).ParseFS(assets, "assets/page.html")
	if err != nil {
		return nil, err
	}
	var index []entry
	for _, p := range sorted(pages) {
		body, err := p.html()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.source, err)
		}
		var b bytes.Buffer
		if err := layout.Execute(&b, map[string]any{"Page": p, "Body": template.HTML(body), "Nav": nav}); err != nil { //nolint:gosec // HTML of our own pages
			return nil, err
		}
		s.files[p.Name] = b.Bytes()
		index = append(index, p.entries()...)
	}
	words, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	s.files["search.js"] = slices.Concat([]byte("window.paSearch="), words, []byte(";\n"))
	for _, name := range []string{"style.css", "site.js"} {
		if s.files[name], err = assets.ReadFile("assets/" + name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addGallery adds the pages of the gallery, and makes their pictures on the page first lead to them.
func (s *site) addGallery(gallery fs.FS, first *page) error {
	names, err := fs.Glob(gallery, "*.html")
	if err != nil {
		return err
	}
	if first == nil || len(names) == 0 {
		return fmt.Errorf("the gallery has %d pages, and %s is there: %t; make gallery-pages writes the pages", len(names), galleryPage, first != nil)
	}
	for _, name := range names {
		content, err := fs.ReadFile(gallery, name)
		if err != nil {
			return err
		}
		if !first.linkPicture(strings.TrimSuffix(name, ".html")+".png", name) {
			return fmt.Errorf("%s shows no picture of %s", galleryPage, name)
		}
		s.files[path.Join(path.Dir(first.Name), name)] = content
	}
	return nil
}

// readPages parses the pages of docs and schemas, the tables of the statistics and the list of changes, by source.
func readPages(root fs.FS) (map[string]*page, error) {
	var sources []string
	for _, pattern := range []string{"CHANGELOG.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "schemas/*.md", "test/statsvalidation/testdata/*.md"} {
		found, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, err
		}
		sources = append(sources, found...)
	}
	pages := map[string]*page{}
	for _, source := range sources {
		text, err := fs.ReadFile(root, source)
		if err != nil {
			return nil, err
		}
		if pages[source], err = parse(source, text); err != nil {
			return nil, err
		}
	}
	if pages[firstPage] == nil {
		return nil, fmt.Errorf("%s is missing; -root names the root of the repository", firstPage)
	}
	return pages, nil
}

// navigation returns the sections of docs/README.md with the pages that it links to, each
// at its first link. Every page of docs must be among them.
func navigation(pages map[string]*page) ([]navSection, error) {
	first := pages[firstPage]
	nav := []navSection{{Title: "Start", Pages: []*page{first}}}
	seen := map[*page]bool{first: true}
	first.walkLinks(func(section string, to *page) {
		if section != "" && section != nav[len(nav)-1].Title {
			nav = append(nav, navSection{Title: section})
		}
		if !seen[to] {
			seen[to] = true
			last := &nav[len(nav)-1]
			last.Pages = append(last.Pages, to)
		}
	})
	var missing []error
	for _, p := range sorted(pages) {
		if strings.HasPrefix(p.source, "docs/") && !seen[p] {
			missing = append(missing, fmt.Errorf("%s: %s does not link to it, so it has no place in the navigation", p.source, firstPage))
		}
	}
	return nav, errors.Join(missing...)
}

// sorted returns the pages in the order of their sources.
func sorted(pages map[string]*page) []*page {
	all := make([]*page, 0, len(pages))
	for _, p := range pages {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *page) int { return cmp.Compare(a.source, b.source) })
	return all
}

// relative returns the link from the page called from to the file called to, both named
// from the root of the site.
func relative(from, to string) (string, error) {
	link, err := filepath.Rel(path.Dir(from), to)
	return filepath.ToSlash(link), err
}

// write replaces the folder dir, which must be an earlier site or empty, with the site.
func (s *site) write(dir string) error {
	old, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(old) > 0 && !slices.ContainsFunc(old, func(e fs.DirEntry) bool { return e.Name() == "search.js" }) {
		return fmt.Errorf("%s holds other files than a site; name another folder", dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for name, content := range s.files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil { //nolint:gosec // for everyone to read
			return err
		}
	}
	return nil
}
