package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"
)

// looksLikeYAML reports whether a text is a Graph IR as YAML: by the name of the file, or by its first line that is no comment.
func looksLikeYAML(name string, text []byte) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	if ext := strings.ToLower(filepath.Ext(name)); ext == ".yaml" || ext == ".yml" {
		return true
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#' || bytes.Equal(line, []byte("---")):
			continue
		case bytes.Equal(line, []byte("graph:")), bytes.Equal(line, []byte("traces:")), bytes.HasPrefix(line, []byte("kind: ")):
			return true
		}
		return false
	}
	return false
}

// A yamlRows is a Graph IR as YAML. It is in memory: a row for the graph and for each trace.
type yamlRows struct {
	src   *source
	texts [][]byte // as JSON
	lines []int
}

// openYAML reads src.
func openYAML(src *source) (*yamlRows, error) {
	r, h := src.scan()
	if src.size > src.maxRow {
		return nil, fmt.Errorf("%s: %d bytes long; YAML may have at most %d", src.name, src.size, src.maxRow)
	}
	text, err := io.ReadAll(r)
	if err == nil {
		err = src.finishHash(r, h)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", src.name, err)
	}
	y := &yamlRows{src: src}
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		err := documents.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			return y, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %s", src.name, strings.ReplaceAll(err.Error(), "\n", " "))
		}
		if err := y.addDocument(doc.Content[0]); err != nil {
			return nil, err
		}
	}
}

// addDocument adds the rows of a document: of one with "graph" and "traces", those.
func (y *yamlRows) addDocument(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return y.at(n, errors.New("expected a mapping"))
	}
	parts := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		parts[n.Content[i].Value] = n.Content[i+1]
	}
	if parts["graph"] == nil && parts["traces"] == nil {
		return y.add(n, "")
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Value != "graph" && key.Value != "traces" {
			return y.at(key, fmt.Errorf(`%q is not known; expected "graph" and "traces"`, clip([]byte(key.Value))))
		}
	}
	if g := parts["graph"]; g != nil {
		if err := y.add(g, "graph"); err != nil {
			return err
		}
	}
	traces := parts["traces"]
	if traces == nil || traces.Kind != yaml.SequenceNode {
		return y.at(n, errors.New(`"traces": expected a list`))
	}
	for _, t := range traces.Content {
		if err := y.add(t, "trace"); err != nil {
			return err
		}
	}
	return nil
}

// add adds a row of a kind.
func (y *yamlRows) add(n *yaml.Node, kind string) error {
	if n.Kind != yaml.MappingNode {
		return y.at(n, errors.New("expected a mapping"))
	}
	c := yamlConverter{left: mostYAML}
	js, err := c.value(nil, n, 0)
	if err != nil {
		return y.at(c.node, err)
	}
	if kind != "" {
		members := js[1:]
		js = []byte(`{"kind":"` + kind + `"`)
		if len(members) > 1 {
			js = append(js, ',')
		}
		js = append(js, members...)
	}
	y.texts, y.lines = append(y.texts, js), append(y.lines, n.Line)
	return nil
}

// at returns an error with the line of a node.
func (y *yamlRows) at(n *yaml.Node, err error) error {
	return &Error{Name: y.src.name, Kind: byLine, Line: n.Line, Err: err}
}

func (y *yamlRows) len() int { return len(y.texts) }

func (y *yamlRows) row(i int) (*row, error) { return parseObject(y.texts[i]) }

func (y *yamlRows) fault(i int, err error) error {
	return &Error{Name: y.src.name, Kind: byLine, Line: y.lines[i], Err: err}
}

// mostYAML and deepestYAML bound the values of a row, and how deep they are in each other: aliases could make them many.
const (
	mostYAML    = 1_000_000
	deepestYAML = 100
)

// A yamlConverter writes values of YAML as JSON.
type yamlConverter struct {
	left int        // values that may come
	node *yaml.Node // of the error
}

// value appends a value.
func (c *yamlConverter) value(out []byte, n *yaml.Node, depth int) (_ []byte, err error) {
	c.node = n
	if c.left--; c.left < 0 || depth > deepestYAML {
		return nil, fmt.Errorf("more than %d values, or deeper than %d in each other", mostYAML, deepestYAML)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.value(out, n.Alias, depth+1)
	case yaml.ScalarNode:
		return c.scalar(out, n)
	case yaml.SequenceNode:
		out = append(out, '[')
		for i, e := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = c.value(out, e, depth+1); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	}
	out = append(out, '{')
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		c.node = key
		switch {
		case key.Kind != yaml.ScalarNode, key.Tag == "!!merge":
			return nil, errors.New("expected a plain key")
		case seen[key.Value]:
			return nil, fmt.Errorf("%q is there twice", clip([]byte(key.Value)))
		}
		seen[key.Value] = true
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, key.Value); err != nil {
			return nil, err
		}
		if out, err = c.value(append(out, ':'), n.Content[i+1], depth+1); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// scalar appends a plain value.
func (c *yamlConverter) scalar(out []byte, n *yaml.Node) ([]byte, error) {
	switch n.Tag {
	case "!!null":
		return append(out, "null"...), nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return strconv.AppendBool(out, b), err
	case "!!int":
		var i int64
		if n.Decode(&i) == nil {
			return strconv.AppendInt(out, i, 10), nil
		}
		fallthrough
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("expected a number, found %s", clip([]byte(n.Value)))
		}
		return strconv.AppendFloat(out, f, 'g', -1, 64), nil
	}
	return jsontext.AppendQuote(out, n.Value)
}
