package docs

import (
	"slices"
	"strings"
	"testing"
)

const (
	pageWords = 3000 // a page that has more is two pages, or repeats itself
	leadWords = 60   // between the title of a reference page and its first table
)

// generatedPages are made by tests from the code. They grow with it, and are searched rather than read.
var generatedPages = []string{
	"docs/reference/flags-pa-record.md",  // TestFlagPages
	"docs/reference/flags-pa-analyze.md", // TestFlagPages
	"docs/reference/names.md",            // TestNamesPage of pkg/tool
	"docs/reference/endpoints.md",        // TestMatrix… of pkg/recorder/backend/openai
}

// A page has at most 3,000 words. A reference page begins with the table of what readers look up in it.
func TestPageForm(t *testing.T) {
	all := pages(t)
	for _, name := range generatedPages {
		if !slices.Contains(all, name) {
			t.Errorf("%s is no page; take it off the list", name)
		}
	}
	for _, name := range all {
		if slices.Contains(generatedPages, name) {
			continue
		}
		text := read(t, name)
		if n := len(strings.Fields(text)); n > pageWords {
			t.Errorf("%s has %d words, at most %d: delete what other pages have, or split the page by subject", name, n, pageWords)
		}
		if problem := lead(text); problem != "" && strings.HasPrefix(name, "docs/reference/") {
			t.Errorf("%s %s", name, problem)
		}
	}
}

// lead returns what is wrong with the beginning of a reference page: a title, at most a short
// paragraph, and a table.
func lead(text string) string {
	parts := strings.SplitN(text, "\n\n", 4)
	if len(parts) < 2 || !strings.HasPrefix(parts[0], "# ") {
		return "does not begin with a title and a blank line"
	}
	if strings.HasPrefix(parts[1], "|") {
		return ""
	}
	if n := len(strings.Fields(parts[1])); n > leadWords {
		return "has too many words before its table"
	}
	if strings.HasPrefix(parts[1], "#") || strings.HasPrefix(parts[1], "```") || len(parts) < 3 || !strings.HasPrefix(parts[2], "|") {
		return "does not begin with a table, behind at most a short paragraph"
	}
	return ""
}

func TestLead(t *testing.T) {
	for _, tt := range []struct {
		text string
		ok   bool
	}{
		{"# T\n\n| a |\n|---|\n", true},
		{"# T\n\nShort.\n\n| a |\n|---|\n", true},
		{"# T\n\nShort.\n\n## S\n\n| a |\n", false},
		{"# T\n\n## S\n\n| a |\n", false},
		{"# T\n\n```sh\nx\n```\n\n| a |\n", false},
		{"# T\n\n" + strings.Repeat("word ", leadWords+1) + "\n\n| a |\n", false},
		{"# T\n\nShort.\n\nMore.\n\n| a |\n", false},
		{"# T\n", false},
		{"", false},
	} {
		if got := lead(tt.text); (got == "") != tt.ok {
			t.Errorf("%.40q: %q", tt.text, got)
		}
	}
}
