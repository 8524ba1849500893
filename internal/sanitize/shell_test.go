package sanitize

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

func TestShellWord(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"":            "''",
		"a.json":      "a.json",
		"a b.json":    "'a b.json'",
		"a.*.json":    "'a.*.json'",
		"it's":        `'it'\''s'`,
		"$HOME":       "'$HOME'",
		"vllm=a.json": "vllm=a.json",
		"~/a":         "'~/a'",
		"a\nb":        "'a\nb'",
	} {
		if got := ShellWord(arg); got != want {
			t.Errorf("%q: %s, want %s", arg, got, want)
		}
	}
}

// A shell reads the words of a command as they were.
func TestCommand(t *testing.T) {
	t.Parallel()
	sh := testenv.Program(t, "sh")
	words := []string{"a b", "it's", "$HOME", "*", "", `\`, "`id`", PathArgument("-x.json"), "é\n"}
	out, err := exec.Command(sh, "-c", Command(append([]string{"printf", `%s|`}, words...)...)).Output()
	const want = "a b|it's|$HOME|*||\\|`id`|./-x.json|é\n|"
	if err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}

func TestPattern(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a.json", "a[1].json", "a*?", `a\b`, "é[x"} {
		if ok, err := filepath.Match(Pattern(path), path); !ok || err != nil {
			t.Errorf("%q: %q matches: %v, %v", path, Pattern(path), ok, err)
		}
	}
	if ok, _ := filepath.Match(Pattern("a*"), "ab"); ok {
		t.Error("a* matches ab")
	}
}
