package sheet

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A Renderer writes one finished report to w. It returns the first error of w.
type Renderer func(w io.Writer) error

// A Sheet is a result for people. Its fields are in the order in which formats show them.
type Sheet struct {
	Title   string   // of a whole document; "" for none
	Heads   []string // the answer in one or more sentences
	Command Command
	About   []string // what was analyzed, and how
	Parts   []*Part
	Notes   []string
	// Bullets makes a list of the notes in Markdown, which otherwise has a paragraph for each.
	Bullets bool
	// Details is what Markdown folds away below its title; nil for nothing. Text leaves it out.
	Details *Part
}

// A Command is a line for a shell. Text does not wrap it, so that it can be copied.
type Command struct{ Before, Line string }

// A Part is a section, such as a load level.
type Part struct {
	Title string // "" for none
	// After follows the title on its line. Markdown then has the title in bold, in place of a heading.
	After string
	// Indent precedes the lines of text below the title.
	Indent string
	Blocks []Block

	apart bool // the next block stands apart
}

// A Block is a sentence, a list of sentences, or a table.
type Block struct {
	Text  string
	Code  string // follows the text
	List  []string
	Table *Table
	// Apart says that an empty line precedes the block in text. Blocks of Markdown always have one.
	Apart bool
}

// Part appends a part. The lines below a title are indented by two spaces.
func (s *Sheet) Part(title string) *Part {
	p := &Part{Title: title}
	if title != "" {
		p.Indent = "  "
	}
	s.Parts = append(s.Parts, p)
	return p
}

// Apart puts an empty line before the next block in text.
func (p *Part) Apart() *Part {
	p.apart = true
	return p
}

// Add appends a block.
func (p *Part) Add(b Block) *Part {
	b.Apart, p.apart = b.Apart || p.apart, false
	p.Blocks = append(p.Blocks, b)
	return p
}

// Lines appends a sentence for each text that is not empty.
func (p *Part) Lines(texts ...string) *Part {
	for _, text := range texts {
		if text != "" {
			p.Add(Block{Text: text})
		}
	}
	return p
}

// List appends a list, unless it is empty.
func (p *Part) List(texts ...string) *Part {
	if len(texts) > 0 {
		p.Add(Block{List: texts})
	}
	return p
}

// Table appends a table, unless it has no rows. It stands apart from a table before it.
func (p *Part) Table(t Table) *Part {
	if n := len(p.Blocks); len(t.Rows) > 0 {
		p.Add(Block{Table: &t, Apart: n > 0 && p.Blocks[n-1].Table != nil && t.Caption == ""})
	}
	return p
}

// Sentences returns the sentences of a block that is no table.
func (b *Block) Sentences() []string {
	switch {
	case b.List != nil:
		return b.List
	case b.Code != "":
		return []string{b.Text + " " + b.Code}
	}
	return []string{b.Text}
}

// Text writes sheets for people, with an empty line between them, in lines of at most width
// characters; 0 is no limit.
func Text(width int, all ...*Sheet) Renderer {
	return func(w io.Writer) error {
		var texts []string
		for _, s := range all {
			texts = append(texts, s.text(width))
		}
		_, err := io.WriteString(w, strings.Join(texts, "\n"))
		return err
	}
}

func (s *Sheet) text(width int) string {
	var b strings.Builder
	line := func(indent, text string) {
		b.WriteString(Wrap(sanitize.Text(text), indent, indent+"  ", width))
	}
	apart := func() {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
	}
	if s.Title != "" {
		line("", s.Title)
	}
	for _, text := range s.Heads {
		line("", text)
	}
	if s.Command.Line != "" {
		b.WriteString(sanitize.Text(s.Command.Before+": "+s.Command.Line) + "\n")
	}
	for _, text := range s.About {
		line("", text)
	}
	for _, p := range s.Parts {
		if p.Title == "" && len(p.Blocks) == 0 {
			continue
		}
		apart()
		switch {
		case p.After != "":
			line("", p.Title+": "+p.After)
		case p.Title != "":
			line("", p.Title)
		}
		for _, block := range p.Blocks {
			if block.Apart {
				apart()
			}
			switch t := block.Table; {
			case t == nil:
				for _, text := range block.Sentences() {
					line(p.Indent, text)
				}
			case t.Lines != nil:
				for _, text := range t.Lines {
					b.WriteString(Wrap(sanitize.Text(text), p.Indent, p.Indent+"      ", width))
				}
			case t.Caption != "":
				line(p.Indent, t.Caption)
				b.WriteString(t.Text(p.Indent+"  ", width))
			default:
				b.WriteString(t.Text(p.Indent, width))
			}
		}
	}
	for i, text := range s.Notes {
		if i == 0 {
			apart()
		}
		line("", text)
	}
	return b.String()
}

// Markdown writes sheets for a pull request or a wiki, with an empty line between them.
func Markdown(all ...*Sheet) Renderer {
	return func(w io.Writer) error {
		var texts []string
		for _, s := range all {
			texts = append(texts, s.markdown())
		}
		_, err := io.WriteString(w, strings.Join(texts, "\n"))
		return err
	}
}

func (s *Sheet) markdown() string {
	var blocks []string // each ends in a line feed
	add := func(format, text string) {
		blocks = append(blocks, fmt.Sprintf(format, sanitize.Markdown(text))+"\n")
	}
	if s.Title != "" {
		add("### %s", s.Title)
	}
	for _, text := range s.Heads {
		add("**%s**", text)
	}
	if line := s.Command.Line; line != "" {
		add("%s:", s.Command.Before)
		fence := "```"
		for strings.Contains(line, fence) {
			fence += "`"
		}
		blocks = append(blocks, fence+"sh\n"+line+"\n"+fence+"\n")
	}
	for _, text := range s.About {
		add("%s", text)
	}
	for _, p := range s.Parts {
		switch {
		case p.After != "":
			blocks = append(blocks, fmt.Sprintf("**%s**: %s\n", sanitize.Markdown(p.Title), sanitize.Markdown(p.After)))
		case p.Title != "":
			add("#### %s", p.Title)
		}
		blocks = append(blocks, p.markdown()...)
	}
	switch {
	case s.Bullets && len(s.Notes) > 0:
		blocks = append(blocks, bullets(s.Notes))
	default:
		for _, text := range s.Notes {
			add("%s", text)
		}
	}
	if d := s.Details; d != nil {
		add("<details><summary>%s</summary>", d.Title)
		blocks = append(append(blocks, d.markdown()...), "</details>\n")
	}
	return strings.Join(blocks, "\n")
}

// markdown returns the blocks of a part, without its title.
func (p *Part) markdown() (blocks []string) {
	for _, block := range p.Blocks {
		switch t := block.Table; {
		case t != nil:
			if t.Caption != "" {
				blocks = append(blocks, sanitize.Markdown(strings.ToUpper(t.Caption[:1])+t.Caption[1:])+":\n")
			}
			blocks = append(blocks, t.markdown())
		case block.List != nil:
			blocks = append(blocks, bullets(block.List))
		case block.Code != "":
			blocks = append(blocks, sanitize.Markdown(block.Text)+" `"+block.Code+"`\n")
		default:
			blocks = append(blocks, sanitize.Markdown(block.Text)+"\n")
		}
	}
	return blocks
}

// bullets returns a list.
func bullets(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString("- " + sanitize.Markdown(text) + "\n")
	}
	return b.String()
}

// Wrap breaks text between words into lines of width characters, each with a line feed.
// first begins the first line, others the further ones. With width 0, text stays in one
// line.
func Wrap(text, first, others string, width int) string {
	if width == 0 {
		return first + text + "\n"
	}
	var b strings.Builder
	indent, used := first, 0
	b.WriteString(indent)
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if i > 0 && len(indent)+used+1+n > width {
			indent, used = others, 0
			b.WriteString("\n" + indent)
		} else if i > 0 {
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String() + "\n"
}
