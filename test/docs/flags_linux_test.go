package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
)

// The pages of flags hold what the programs' help says; -update writes them.
func TestFlagPages(t *testing.T) {
	for _, program := range []string{"pa-record", "pa-analyze"} {
		name := "docs/reference/flags-" + program + ".md"
		want := flagPage(t, program)
		if *update {
			write(t, name, want)
			continue
		}
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(read(t, name), "\n")); diff != "" {
			t.Errorf("%s (-program +page; go test ./test/docs -update writes it):\n%s", name, diff)
		}
	}
}

// Flags that the tables of docs/from give for another tool's flags exist.
func TestFlagsForOtherTools(t *testing.T) {
	exist := map[string]bool{}
	for _, page := range []string{"flags-pa-record.md", "flags-pa-analyze.md"} {
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]*)` \\|").FindAllStringSubmatch(read(t, "docs/reference/"+page), -1) {
			for _, name := range strings.Split(m[1], ", ") {
				name, _, _ = strings.Cut(name, " ")
				exist[name] = true
			}
		}
	}
	quoted, flag := regexp.MustCompile("`[^`]*`"), regexp.MustCompile(`(?:^|[ `+"`"+`])(--?[a-z][a-z0-9-]*)`)
	checked := 0
	for _, name := range pages(t) {
		if !strings.HasPrefix(name, "docs/from/") {
			continue
		}
		checked++
		ours, found := -1, 0
		for i, line := range strings.Split(read(t, name), "\n") {
			cells := strings.Split(line, " | ")
			switch {
			case !strings.HasPrefix(line, "|"):
				ours = -1
			case ours < 0:
				ours = slices.IndexFunc(cells, func(c string) bool { return strings.Trim(c, "| ") == "here" })
				if ours < 0 {
					ours = len(cells) // a table of something else
				}
			case ours < len(cells):
				for _, text := range quoted.FindAllString(cells[ours], -1) {
					for _, m := range flag.FindAllStringSubmatch(text, -1) {
						found++
						if !exist[m[1]] {
							t.Errorf("%s:%d: neither program has the flag %s", name, i+1, m[1])
						}
					}
				}
			}
		}
		if found < 5 {
			t.Errorf("%s: %d flags of ours: is its table found?", name, found)
		}
	}
	if checked == 0 {
		t.Error("no pages in docs/from")
	}
}

// flagPage returns the page of a program's flags.
func flagPage(t *testing.T, program string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# Flags of %s\n\n", program)
	b.WriteString("`go test ./test/docs -update` writes this page from the program's help.\n")
	page := help(t, program)
	if sections := flagSections(page); len(sections) > 0 {
		fmt.Fprintf(&b, "\n## `%s`\n", program)
		writeSections(&b, sections, nil)
	}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z][\w-]*) +(\S.*)$`).FindAllStringSubmatch(section(firstHelp(t, program), "Commands")+"\n"+section(page, "Commands"), -1) {
		// A command line of another tool has a page of its own.
		if _, err := os.Stat(filepath.Join(golden.Root(t), "docs/reference/migrating", m[1]+".md")); err == nil {
			fmt.Fprintf(&b, "\n## `%s %s`\n\nSee [its page](migrating/%s.md).\n", program, m[1], m[1])
			continue
		}
		own := help(t, program, m[1])
		if own == page { // the command that runs without a name
			continue
		}
		sections := flagSections(own)
		if len(sections) == 0 && m[1] != "completion" {
			t.Errorf("the help of %s %s lists no flags", program, m[1])
		}
		title, _, _ := strings.Cut(own, "\n")
		usage := regexp.MustCompile(`(?m)^Usage: (.*)$`).FindStringSubmatch(own)
		if usage == nil {
			t.Fatalf("the help of %s %s has no usage line", program, m[1])
		}
		_, does, _ := strings.Cut(title, ": ")
		fmt.Fprintf(&b, "\n## `%s %s`\n\n`%s`: %s.\n", program, m[1], usage[1], does)
		writeSections(&b, sections, flagSections(page))
	}
	return b.String()
}

// help returns the whole help page of a program or of one of its commands.
func help(t *testing.T, program string, command ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(programs, program), append(command, "--help=all")...).Output()
	if err != nil {
		t.Fatalf("%s %v --help=all: %v", program, command, err)
	}
	return string(out)
}

// firstHelp returns the first page of a program's help. It lists the commands of a program
// whose whole help is the help of one of them.
func firstHelp(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(programs, program), "--help").Output()
	if err != nil {
		t.Fatalf("%s --help: %v", program, err)
	}
	return string(out)
}

// section returns the lines of a part of a help page, up to the next blank line.
func section(page, title string) string {
	_, rest, _ := strings.Cut("\n"+page, "\n"+title+":\n")
	lines, _, _ := strings.Cut(rest, "\n\n")
	return lines
}

// A flagSection is a part of a help page that lists flags.
type flagSection struct {
	title string
	flags [][3]string // names, what it does, default
}

// flagSections reads the flags off a help page: the lines below a title, whose entries
// begin with two blanks and go on, further in, on the next lines.
func flagSections(page string) []flagSection {
	var all []flagSection
	title := ""
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line != "" && line[0] != ' ':
			title = strings.TrimSuffix(line, ":")
		case strings.HasPrefix(line, "  -"):
			if len(all) == 0 || all[len(all)-1].title != title {
				all = append(all, flagSection{title: title})
			}
			s := &all[len(all)-1]
			names, does, _ := strings.Cut(line[2:], "  ")
			s.flags = append(s.flags, [3]string{names, strings.TrimSpace(does), ""})
		case strings.HasPrefix(line, "      ") && len(all) > 0 && all[len(all)-1].title == title:
			s := &all[len(all)-1]
			last := &s.flags[len(s.flags)-1]
			last[1] = strings.TrimSpace(last[1] + " " + strings.TrimSpace(line))
		}
	}
	return all
}

// withoutDefault takes the default, "(default: …)" or "(…; default: …)", off the end of
// a usage text.
func withoutDefault(does string) (text, initial string) {
	i := strings.LastIndex(does, "default: ")
	if i < 0 || !strings.HasSuffix(does, ")") {
		return does, ""
	}
	before, initial := does[:i], does[i+len("default: "):len(does)-1]
	if strings.Count(initial, "(") != strings.Count(initial, ")") {
		return does, ""
	}
	if text, ok := strings.CutSuffix(before, "("); ok {
		return strings.TrimSpace(text), initial
	}
	if text, ok := strings.CutSuffix(before, "; "); ok {
		return text + ")", initial
	}
	return does, ""
}

// writeSections writes the flags of a command as tables, one for each part of its help
// page. Flags that the program has without a command are only named.
func writeSections(b *strings.Builder, sections, ofProgram []flagSection) {
	common := map[[3]string]bool{}
	for _, s := range ofProgram {
		for _, f := range s.flags {
			common[f] = true
		}
	}
	var named []string
	for _, s := range sections {
		var rows strings.Builder
		for _, f := range s.flags {
			if common[f] {
				named = append(named, "`"+f[0]+"`")
				continue
			}
			does, initial := withoutDefault(f[1])
			cell := strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*")
			fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", f[0], cell.Replace(does), cell.Replace(initial))
		}
		if rows.Len() == 0 {
			continue
		}
		if s.title != "Flags" {
			fmt.Fprintf(b, "\n### %s\n", s.title)
		}
		b.WriteString("\n| flag | does | default |\n|---|---|---|\n" + rows.String())
	}
	if len(named) > 0 {
		fmt.Fprintf(b, "\nAs above: %s.\n", strings.Join(named, ", "))
	}
}
