package resultfile

import (
	"fmt"
	"math"
	"strconv"

	"gopkg.in/yaml.v3"
)

// maxYAMLBytes bounds a YAML document, which takes a hundred times as long to read as JSON.
const maxYAMLBytes = 4 << 20

// ReadYAML returns the object of a YAML document. Numbers keep their digits.
func ReadYAML(text []byte) (*Object, error) {
	if len(text) > maxYAMLBytes {
		return nil, fmt.Errorf("%d bytes of YAML, and at most %d are read; give the report in JSON", len(text), maxYAMLBytes)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	f := flattener{memory: maxStatedMemory}
	if err := f.flattenYAML(&doc, "", 0); err != nil {
		return nil, err
	}
	return NewObject(f.values), nil
}

// flattenYAML appends the values of a node.
func (f *flattener) flattenYAML(n *yaml.Node, path string, depth int) error {
	if depth > maxStatedDepth {
		return fmt.Errorf("line %d: objects are nested deeper than %d", n.Line, maxStatedDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			if err := f.flattenYAML(c, path, depth); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if err := f.flattenYAML(n.Content[i+1], join(path, n.Content[i].Value), depth+1); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			if err := f.flattenYAML(c, join(path, strconv.Itoa(i)), depth+1); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		v := Value{Path: path, Text: n.Value, Number: math.NaN()}
		switch n.ShortTag() {
		case "!!int", "!!float":
			v.Number = number(n.Value)
		case "!!null":
			v.Text = "null"
		case "!!bool":
		default:
			v.Quoted = true
		}
		return f.add(v)
	case yaml.AliasNode:
		return fmt.Errorf("line %d: aliases of YAML are not read in a file of figures", n.Line)
	}
	return nil
}
