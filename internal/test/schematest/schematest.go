package schematest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pa-tools/pa/internal/test/golden"
)

// Read returns the text of schemas/name.
func Read(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(golden.Root(tb), "schemas", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// A Schema is one compiled file of schemas/.
type Schema struct{ compiled *jsonschema.Schema }

// Open compiles schemas/name, for example "report.schema.json". It ends the test if the
// file is missing or no valid schema.
func Open(tb testing.TB, name string) Schema {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Read(tb, name)))
	if err != nil {
		tb.Fatalf("schemas/%s: %v", name, err)
	}
	// A URL stands in the messages instead of the folder of the test.
	url := "https://github.com/pa-tools/pa/schemas/" + name
	c := jsonschema.NewCompiler()
	if err := c.AddResource(url, doc); err != nil {
		tb.Fatalf("schemas/%s: %v", name, err)
	}
	s, err := c.Compile(url)
	if err != nil {
		tb.Fatalf("schemas/%s: %v", name, err)
	}
	return Schema{s}
}

// Check returns how doc breaks the schema, nil if it holds. It ends the test if doc is no
// JSON: a test of a document that the schema refuses must not pass for a misspelled one.
func (s Schema) Check(tb testing.TB, doc []byte) error {
	tb.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		tb.Fatal(err)
	}
	return s.compiled.Validate(v)
}
