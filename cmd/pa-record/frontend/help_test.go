package frontend

import (
	"strings"
	"testing"
)

// Each release has a page of at most 80 columns with three examples first, and
// every option on it.
func TestHelp(t *testing.T) {
	for _, tool := range Tools() {
		for _, r := range tool.releases() {
			args := []string{"--help"}
			switch {
			case r.subcommand() != "":
				args = append([]string{r.subcommand()}, args...)
			case r.name != "":
				args = append(args, "--release", r.name)
			}
			page, err := tool.Help("pa-record", args)
			if err != nil {
				t.Errorf("%s: %v", tool.title(r), err)
				continue
			}
			for line := range strings.Lines(page) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
					t.Errorf("%s: line of %d columns: %s", tool.title(r), n, line)
				}
			}
			examples, flags, _ := strings.Cut(page, "\nUsage: ")
			if n := strings.Count(examples, "\n  # "); n != 3 || !strings.Contains(page, "\nExamples:\n") {
				t.Errorf("%s: %d examples in front, want 3", tool.title(r), n)
			}
			for i := range r.options {
				if name := r.options[i].name(); !strings.Contains(flags, name) {
					t.Errorf("%s: %s is not there", tool.title(r), name)
				}
			}
		}
	}
	if _, err := GenAIPerf().Help("pa-record", []string{"proflie", "-h"}); err == nil || !strings.Contains(err.Error(), "unknown subcommand") {
		t.Errorf("error %v, want one about the subcommand", err)
	}
}
