// Command pytypes writes the Python classes of the JSON documents that pa-analyze prints, from their schemas:
//
//	go run -C tools ./pytypes -root ..
//
// Each module of the package pa that it writes has a dataclass for each object of a schema. "p99.9" is the attribute p99_9,
// "from" is from_.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	flag.Parse()
	if err := write(*root); err != nil {
		fmt.Fprintln(os.Stderr, "pytypes:", err)
		os.Exit(1)
	}
}

// modules returns the modules with the names of their schemas, and of the class of a schema that is an object itself.
func modules() map[string][2]string {
	return map[string][2]string{
		"report": {"report.schema.json", "Report"}, "diff": {"diff.schema.json", "Diff"},
		"stated": {"stated.schema.json", "Stated"}, "stated_diff": {"stated-diff.schema.json", "StatedDiff"},
	}
}

// write writes the modules into the package below root.
func write(root string) error {
	for module, from := range modules() {
		text, err := generate(filepath.Join(root, "schemas", from[0]), from[1])
		if err == nil {
			err = os.WriteFile(pathOf(root, module), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func pathOf(root, module string) string { return filepath.Join(root, "python", "pa", module+".py") }

// A schema is the part of a JSON schema that types need.
type schema struct {
	Ref         string          `json:"$ref"`
	Description string          `json:"description"`
	Type        any             `json:"type"` // string or list of strings
	Const       any             `json:"const"`
	Enum        []string        `json:"enum"`
	Items       *schema         `json:"items"`
	Required    []string        `json:"required"`
	Properties  members         `json:"properties"`
	Additional  json.RawMessage `json:"additionalProperties"` // schema or boolean
	Defs        members         `json:"$defs"`
}

// members are named schemas in the order of the file.
type members []member

type member struct {
	name string
	schema
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *members) UnmarshalJSON(js []byte) error {
	d := json.NewDecoder(bytes.NewReader(js))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var s schema
		if err := d.Decode(&s); err != nil {
			return fmt.Errorf("%v: %w", name, err)
		}
		*m = append(*m, member{name.(string), s}) // keys are strings
	}
	return nil
}

// generate returns the Python module of a schema. root names the class of the whole document, if that is an object.
func generate(path, root string) ([]byte, error) {
	js, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var top schema
	if err := json.Unmarshal(js, &top); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	g := &generator{defs: top.Defs}
	if len(top.Properties) > 0 {
		g.class(root, &top)
	}
	for i := range top.Defs {
		if d := &top.Defs[i]; len(d.Properties) > 0 {
			g.class(className("", d.name), &d.schema)
		}
	}
	if g.err != nil {
		return nil, fmt.Errorf("%s: %w", path, g.err)
	}
	head := fmt.Sprintf("# Made from schemas/%s by tools/pytypes; do not edit.\n\"\"\"%s\"\"\"\n\nfrom dataclasses import dataclass\nfrom typing import Any, Dict, List, Literal, Optional, Union\n\nfrom ._json import Object\n\n__all__ = [\n",
		filepath.Base(path), docString(top.Description))
	for _, name := range g.names {
		head += fmt.Sprintf("    %q,\n", name)
	}
	return append([]byte(head+"]\n"), g.text.Bytes()...), nil
}

// A generator writes classes.
type generator struct {
	defs  members
	names []string
	text  bytes.Buffer
	err   error
}

// class writes the class of an object, and before it the classes of the objects in it.
func (g *generator) class(name string, s *schema) {
	var required, optional bytes.Buffer
	seen := map[string]bool{}
	for i := range s.Properties {
		p := &s.Properties[i]
		field, typ := fieldName(p.name), g.typeOf(name, p.name, &p.schema)
		if seen[field] {
			g.err = errors.Join(g.err, fmt.Errorf("%s: two members are the attribute %s", name, field))
		}
		seen[field] = true
		out := &required
		if slices.Contains(s.Required, p.name) {
			fmt.Fprintf(out, "    %s: %s\n", field, typ)
		} else {
			out = &optional
			fmt.Fprintf(out, "    %s: Optional[%s] = None\n", field, typ)
		}
		if p.Description != "" {
			fmt.Fprintf(out, "    \"\"\"%s\"\"\"\n", docString(p.Description))
		}
	}
	if slices.Contains(g.names, name) {
		g.err = errors.Join(g.err, fmt.Errorf("two objects are the class %s", name))
	}
	g.names = append(g.names, name)
	fmt.Fprintf(&g.text, "\n\n@dataclass(frozen=True)\nclass %s(Object):\n", name)
	if s.Description != "" {
		fmt.Fprintf(&g.text, "    \"\"\"%s\"\"\"\n\n", docString(s.Description))
	}
	g.text.Write(required.Bytes())
	g.text.Write(optional.Bytes())
}

// typeOf returns the Python type of a member of a class.
func (g *generator) typeOf(class, name string, s *schema) string {
	if def, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		i := slices.IndexFunc(g.defs, func(m member) bool { return m.name == def })
		if i < 0 {
			g.err = errors.Join(g.err, fmt.Errorf("%s.%s: no %s", class, name, s.Ref))
			return "Any"
		}
		if len(g.defs[i].Properties) > 0 {
			return `"` + className("", def) + `"`
		}
		return g.typeOf("", def, &g.defs[i].schema)
	}
	if s.Const != nil {
		return "str"
	}
	if len(s.Enum) > 0 {
		var quoted []string
		for _, v := range s.Enum {
			quoted = append(quoted, fmt.Sprintf("%q", v))
		}
		return "Literal[" + strings.Join(quoted, ", ") + "]"
	}
	switch typ := s.Type.(type) {
	case string:
		return g.plain(class, name, typ, s)
	case []any:
		var all []string
		for _, one := range typ {
			all = append(all, g.plain(class, name, fmt.Sprint(one), s))
		}
		return "Union[" + strings.Join(all, ", ") + "]"
	}
	g.err = errors.Join(g.err, fmt.Errorf("%s.%s: a type that Python's classes do not cover", class, name))
	return "Any"
}

// plain returns the Python type of a type of JSON schema.
func (g *generator) plain(class, name, typ string, s *schema) string {
	switch typ {
	case "string":
		return "str"
	case "integer":
		return "int"
	case "number":
		return "float"
	case "boolean":
		return "bool"
	case "null":
		return "None"
	case "array":
		return "List[" + g.typeOf(class, name, s.Items) + "]"
	}
	var values schema
	switch {
	case len(s.Properties) > 0:
		c := className(class, name)
		g.class(c, s)
		return `"` + c + `"`
	case len(s.Additional) > 0 && json.Unmarshal(s.Additional, &values) == nil:
		return "Dict[str, " + g.typeOf(class, name, &values) + "]"
	}
	return "Dict[str, Any]"
}

// className returns the name of the class of a member of a class; "by_turn" of Sessions is SessionsByTurn.
func className(class, name string) string {
	for part := range strings.SplitSeq(name, "_") {
		r := []rune(part)
		class += string(unicode.ToUpper(r[0])) + string(r[1:])
	}
	return class
}

// fieldName returns the attribute of a member, as attribute of _json.py does.
func fieldName(name string) string {
	name = strings.NewReplacer(".", "_", "-", "_").Replace(name)
	if name == "from" {
		name += "_"
	}
	return name
}

// docString returns text for a Python string in three quotes.
func docString(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"`, `\"`)
	return text
}
