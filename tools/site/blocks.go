package main

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// blocks renders code and tables, which may scroll sideways, so that the keyboard reaches them.
// Comments of the pages are left out.
type blocks struct{}

func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, code)
	r.Register(ast.KindCodeBlock, code)
	r.Register(east.KindTable, table)
	r.Register(ast.KindHTMLBlock, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
		return ast.WalkSkipChildren, nil
	})
}

// code writes a block. Commands of console blocks are marked, so that they can be copied
// without their outputs.
func code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := "text"
	if fenced, ok := node.(*ast.FencedCodeBlock); ok {
		language = string(fenced.Language(source))
	}
	_, _ = w.WriteString(`<div class="code"><pre tabindex="0" data-language="`)
	_, _ = w.Write(util.EscapeHTML([]byte(language)))
	_, _ = w.WriteString(`"><code>`)
	continues := false
	for line := range strings.Lines(string(node.Lines().Value(source))) {
		command, begins := strings.CutPrefix(line, "$ ")
		isCommand := language == "console" && (begins || continues)
		if isCommand {
			if begins {
				_, _ = w.WriteString(`<span class="prompt">$ </span>`)
			}
			_, _ = w.WriteString(`<b>`)
			line = command
		}
		_, _ = w.Write(util.EscapeHTML([]byte(line)))
		if isCommand {
			_, _ = w.WriteString(`</b>`)
		}
		continues = isCommand && strings.HasSuffix(line, "\\\n")
	}
	_, err := w.WriteString("</code></pre></div>\n")
	return ast.WalkSkipChildren, err
}

// table writes the tags of a table with a frame that scrolls.
func table(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<div class="table" tabindex="0"><table`)
		html.RenderAttributes(w, node, html.GlobalAttributeFilter)
		_, err := w.WriteString(">\n")
		return ast.WalkContinue, err
	}
	_, err := w.WriteString("</table></div>\n")
	return ast.WalkContinue, err
}
