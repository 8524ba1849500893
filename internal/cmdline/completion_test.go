package cmdline

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// output returns what the test's app prints for args.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := testApp(nil).Run(t.Context(), append([]string{"tool"}, args...), strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, &stderr)
	}
	return stdout.String()
}

// completes holds the lines that cmd prints, in any order, to the completions of words.
func completes(t *testing.T, words string, cmd *exec.Cmd, want []string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", words, err, out)
	}
	got := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", words, got, want)
	}
}

// Bash completes commands and files at the first word, flags of the command that stands
// there or of the default command, and files behind.
func TestBashCompletion(t *testing.T) {
	bash := testenv.Program(t, "bash")
	dir := t.TempDir()
	for _, name := range []string{"run 1.json", "con.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := output(t, "completion", "bash")
	for _, tt := range []struct {
		words string // the last one is completed
		want  []string
	}{
		{"tool con", []string{"con.json", "convert"}},
		{"tool --li", []string{"--limit"}},
		{"tool report --", []string{"--all", "--config", "--header", "--help", "--interval", "--limit", "--within"}},
		{"tool convert --", []string{"--help"}},
		{"tool report -n", []string{"-n"}},
		{"tool lister --", []string{"--help", "--rows"}},
		{"tool lister profile -r", []string{"-r"}},
		{"tool report run", nil}, // bash itself completes files
		{"tool completion ", nil},
	} {
		words := strings.Split(tt.words, " ")
		cmd := exec.Command(bash, "--norc", "-c", script+`
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_tool
printf '%s\n' "${COMPREPLY[@]}"`, "bash")
		cmd.Args = append(cmd.Args, words...)
		cmd.Dir = dir
		completes(t, tt.words, cmd, tt.want)
	}
}

// Zsh and fish accept their scripts, and fish completes with its script. Zsh reads the completions
// of other programs from an empty file, because a search for them takes longer than the test.
func TestCompletionSyntax(t *testing.T) {
	for _, tt := range []struct{ shell, check, want string }{
		{"zsh", `emulate zsh; autoload -Uz compinit; compinit -C -d "$2"; source "$1"; whence -w _tool; print $_comps[tool]`, "_tool: function\n_tool\n"},
		{"fish", `source $argv[1]; complete -C 'tool report --li'`, "--limit\tprint N rows"},
		{"fish", `source $argv[1]; complete -C 'tool lister profile --ro'`, "--rows\tlister's N rows"},
	} {
		t.Run(tt.shell, func(t *testing.T) {
			shell := testenv.Program(t, tt.shell)
			script, others := filepath.Join(t.TempDir(), "tool"), filepath.Join(t.TempDir(), "others")
			if err := errors.Join(os.WriteFile(script, []byte(output(t, "completion", tt.shell)), 0o600), os.WriteFile(others, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			args := []string{"-c", tt.check, script}
			if tt.shell == "zsh" {
				args = []string{"-f", "-c", tt.check, "zsh", script, others}
			}
			out, err := exec.Command(shell, args...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v: %s, want %s", err, out, tt.want)
			}
		})
	}
}

// Zsh completes as bash does. Functions in place of its own print what they would complete.
func TestZshCompletion(t *testing.T) {
	zsh := testenv.Program(t, "zsh")
	script := output(t, "completion", "zsh")
	for _, tt := range []struct {
		words string // the last one is completed
		want  []string
	}{
		{"tool con", []string{"convert", "files con"}},
		{"tool --li", []string{"--limit"}},
		{"tool report --", []string{"--all", "--config", "--header", "--help", "--interval", "--limit", "--within"}},
		{"tool convert --", []string{"--help"}},
		{"tool report -n", []string{"-n"}},
		{"tool lister profile --", []string{"--help", "--rows"}},
		{"tool report x.json --li", []string{"--limit"}},
		{"tool report run", []string{"files run"}},
		{"tool report --config run", []string{"files run"}},
		{"tool report --config=run", []string{"files run"}},
		{"tool --config=", []string{"files "}},
	} {
		cmd := exec.Command(zsh, append([]string{"-f", "-c", `compdef() {}
_describe() { local -a all=("${(@P)argv[-1]}"); print -rl -- ${(M)${all[@]%%:*}:#$PREFIX*} }
_files() { print -r -- "files $PREFIX" }
compset() { PREFIX=${PREFIX#$~2} }
` + script + `
words=("$@") CURRENT=$# PREFIX=$words[-1]
_tool`, "zsh"}, strings.Split(tt.words, " ")...)...)
		completes(t, tt.words, cmd, tt.want)
	}
}

// PowerShell's script lists each flag once, in single quotes.
func TestPowerShellCompletion(t *testing.T) {
	script := output(t, "completion", "powershell")
	for _, want := range []string{"-CommandName 'tool'", "'report' = 'print a report'", "'--limit' = 'print N rows'", "'-n' = 'print N rows'", "'--rows' = 'lister''s N rows'"} {
		if !strings.Contains(script, want) {
			t.Errorf("no %s in\n%s", want, script)
		}
	}
	if n := strings.Count(script, "'--header' ="); n != 2 { // of report, and without a command
		t.Errorf("--header stands %d times, want 2", n)
	}
}

func TestCompletionRefuses(t *testing.T) {
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}, {"completion", "bash", "zsh"}} {
		var stdout, stderr bytes.Buffer
		code := testApp(nil).Run(t.Context(), append([]string{"tool"}, args...), nil, &stdout, &stderr)
		if code != ExitUsage || !strings.Contains(stderr.String(), "bash, zsh, fish, powershell") || stdout.Len() > 0 {
			t.Errorf("%q: %d, %s", args, code, &stderr)
		}
	}
}

func TestManualPage(t *testing.T) {
	page := output(t, "man")
	for _, want := range []string{".TH tool 1", ".SH NAME", `tool \- does things`, `--limit N\fP`, "print a report", "TOOL_", "tool run.json"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

func TestVersionAsJSON(t *testing.T) {
	for _, args := range [][]string{{"--version", "--json"}, {"--json", "--version"}} {
		var v map[string]string
		if err := json.Unmarshal([]byte(output(t, args...)), &v); err != nil {
			t.Fatal(err)
		}
		if v["program"] != "tool" || v["version"] != "1.2.3" || v["go"] == "" || v["os"] == "" || v["arch"] == "" {
			t.Errorf("%q: %v", args, v)
		}
	}
	if got := Version("1.2.3"); got != "1.2.3" {
		t.Errorf("the linked version is %s", got)
	}
}
