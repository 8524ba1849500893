package frontend

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tables of docs/tools list the options of the front ends; -update writes them.
func TestMigratingTables(t *testing.T) {
	for _, tool := range Tools() {
		name := tool.Name
		if name == "benchmark_serving" {
			name = "serving" // with the scripts of one origin
		}
		migrating := "../../../docs/tools/" + name + ".md"
		text, err := os.ReadFile(migrating)
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		var last options
		listed := map[string]bool{}
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
			want := r.options.without(last).table(listed)
			last = r.options
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

// without returns the options that others lack, if it has all of others; else all options. A page says of
// the command analyze that it takes the flags of profile, too.
func (os options) without(others options) options {
	for i := range others {
		if os.find(others[i].names[0]) == nil {
			return os
		}
	}
	return slices.DeleteFunc(slices.Clone(os), func(o option) bool { return others.find(o.names[0]) != nil })
}

// supportNames are the words of the tables.
var supportNames = map[support]string{same: "same", alias: "alias", body: "body", hint: "hint", unneeded: "not needed", refused: "refused"}

// table is a Markdown table of the options, and notes its rows in listed. Options whose rows an earlier table of
// the page lists are one row.
func (os options) table(listed map[string]bool) string {
	var b strings.Builder
	var again []string
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
		names := "`" + strings.Join(o.names, "`, `") + "`"
		row := fmt.Sprintf("| %s | %s | %s | %s |\n", names, supportNames[o.support], initial, strings.ReplaceAll(note, "|", "\\|"))
		if listed[row] {
			again = append(again, names)
			continue
		}
		listed[row] = true
		b.WriteString(row)
	}
	if again != nil {
		fmt.Fprintf(&b, "| %s | as above | | |\n", strings.Join(again, ", "))
	}
	return "| flag | here | default | |\n|---|---|---|---|\n" + b.String()
}
