package frontend

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tables of docs/reference/migrating list the options of the front ends; -update writes them.
func TestMigratingTables(t *testing.T) {
	for _, tool := range Tools() {
		migrating := "../../../docs/reference/migrating/" + tool.Name + ".md"
		text, err := os.ReadFile(migrating)
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		for _, r := range tool.releases() {
			heading := "\n## `pa-record " + tool.title(r) + "`\n"
			if _, name, ok := strings.Cut(r.name, " "); ok {
				heading = "\n## `pa-record " + tool.Name + " " + name + "`\n"
			} else if r.name != "" {
				heading = "\n## `pa-record " + tool.Name + "`, " + r.name + "\n"
			}
			before, after, ok := strings.Cut(page, heading)
			start := strings.Index(after, "\n|")
			if !ok || start < 0 {
				t.Errorf("%s has no table under %q", migrating, strings.TrimSpace(heading))
				continue
			}
			before += heading + after[:start+1]
			after = after[start+1:]
			end := 0
			for line := range strings.Lines(after) {
				if line[0] != '|' {
					break
				}
				end += len(line)
			}
			want := r.options.table()
			if *update {
				page = before + want + after[end:]
			} else if diff := cmp.Diff(want, after[:end]); diff != "" {
				t.Errorf("%s, %s (-want +got; -update writes it):\n%s", migrating, strings.TrimSpace(heading), diff)
			}
		}
		if *update {
			if err := os.WriteFile(migrating, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// supportNames are the words of docs/reference/migrating.
var supportNames = map[support]string{same: "same", alias: "alias", body: "body", hint: "hint", unneeded: "not needed", refused: "refused"}

// table is a Markdown table of the options.
func (os options) table() string {
	var b strings.Builder
	b.WriteString("| flag | here | default | |\n|---|---|---|---|\n")
	for i := range os {
		o := &os[i]
		initial := ""
		if o.defaultValue != "" {
			initial = "`" + o.defaultValue + "`"
		}
		note := o.note
		if o.support == same && note == "" || o.support == body && note == "" || o.support == hint && note == "" {
			note = o.usage
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.Join(o.names, "`, `"), supportNames[o.support], initial, strings.ReplaceAll(note, "|", "\\|"))
	}
	return b.String()
}
