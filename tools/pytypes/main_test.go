package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The modules of the package follow the schemas.
func TestModulesAreCurrent(t *testing.T) {
	const root = "../.."
	for module, from := range modules() {
		want, err := generate(filepath.Join(root, "schemas", from[0]), from[1])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(pathOf(root, module)); err != nil || string(got) != string(want) {
			t.Errorf("python/pa/%s.py differs from its schema (%v); run: go run -C tools ./pytypes -root ..", module, err)
		}
	}
}

func TestGenerate(t *testing.T) {
	for _, tt := range []struct{ name, js, want, fault string }{
		{
			"members", `{"description": "Says \"hi\".", "type": "object", "required": ["n"], "properties": {"from": {"type": "string"},
				"n": {"type": "integer", "description": "How many."}, "p99.9": {"type": ["number", "null"]}, "part": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}},
				"all": {"type": "array", "items": {"$ref": "#/$defs/share"}}, "by": {"type": "object", "additionalProperties": {"type": "integer"}}, "any": {"type": "object", "additionalProperties": false}},
				"$defs": {"share": {"type": "number"}}}`, `

@dataclass(frozen=True)
class TopPart(Object):
    kind: Optional[Literal["a", "b"]] = None


@dataclass(frozen=True)
class Top(Object):
    """Says \"hi\"."""

    n: int
    """How many."""
    from_: Optional[str] = None
    p99_9: Optional[Union[float, None]] = None
    part: Optional["TopPart"] = None
    all: Optional[List[float]] = None
    by: Optional[Dict[str, int]] = None
    any: Optional[Dict[str, Any]] = None
`, "",
		},
		{"no type", `{"properties": {"x": {}}}`, "", "Top.x: a type that Python's classes do not cover"},
		{"no such part", `{"properties": {"x": {"$ref": "#/$defs/y"}}}`, "", "Top.x: no #/$defs/y"},
		{"one attribute", `{"properties": {"x.y": {"type": "string"}, "x_y": {"type": "string"}}}`, "", "two members are the attribute x_y"},
		{"one class", `{"properties": {"x": {"type": "string"}}, "$defs": {"top": {"properties": {"x": {"type": "string"}}}}}`, "", "two objects are the class Top"},
	} {
		path := filepath.Join(t.TempDir(), "x.schema.json")
		if err := os.WriteFile(path, []byte(tt.js), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := generate(path, "Top")
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.fault)
			}
			continue
		}
		if err != nil || !strings.HasSuffix(string(text), tt.want) {
			t.Errorf("%s: %v\n%s", tt.name, err, text)
		}
	}
}
