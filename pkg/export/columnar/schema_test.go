package columnar

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// schemas/columns.md has a line for each column, with its type, in the order
// of the file.
func TestColumnsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../schemas/columns.md")
	if err != nil {
		t.Fatal(err)
	}
	rest := string(doc)
	for _, f := range fullSchema().Fields() {
		typ := strings.NewReplacer("item: ", "", ", nullable", "", "utf8", "string").Replace(f.Type.String())
		if strings.HasPrefix(typ, "list<struct") {
			typ = "list<struct>"
		}
		line := fmt.Sprintf("\n| `%s` | %s |", f.Name, typ)
		_, after, ok := strings.Cut(rest, line)
		if !ok {
			t.Errorf("no line %q after the previous line", line[1:])
			continue
		}
		rest = after
	}
	for _, word := range []string{Version, versionKey, derivedKey, runKey, runBytesKey, textEscape} {
		if !strings.Contains(string(doc), word) {
			t.Errorf("%q is not explained", word)
		}
	}
}
