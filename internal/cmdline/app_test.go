package cmdline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// testApp has one default subcommand that prints what it was given.
func testApp(fail error) App {
	return App{
		Name: "tool", Usage: "does things", Version: "1.2.3", Default: "report",
		Unsupported: map[string]string{"csv": "use --format"},
		Renamed:     map[string]string{"lines": "--limit N", "place": "--header NAME", "port": "--rows N"},
		OtherFlags:  func() map[string]string { return map[string]string{"rows": "tool lister"} },
		OwnFlags: func(command string) []cli.Flag {
			return []cli.Flag{&cli.StringFlag{Name: "rows", Aliases: []string{"r"}, Usage: command + "'s `N` rows"}}
		},
		Examples: []Example{{"the common case", "tool run.json"}},
		Commands: []*cli.Command{
			{
				Name: "report", Usage: "print a report", ArgsUsage: "FILE…",
				Flags: []cli.Flag{
					&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "print `N` rows", Value: 10, Category: "Output"},
					&cli.BoolFlag{Name: "all", Usage: "print all rows, which can take long on a large file and is not what people want most of the time", Category: "Output"},
					&cli.IntFlag{Name: "interval", Usage: "look every `MS`"},
					&cli.DurationFlag{Name: "within", Usage: "end within `DURATION`"},
					&cli.StringSliceFlag{Name: "header", Aliases: []string{"H"}, Usage: "send the `HEADER`", Category: "Input"},
					ConfigFlag("Input"),
				},
				Action: func(c *cli.Context) error {
					fmt.Fprintf(c.App.Writer, "limit=%d all=%v header=%q args=%q\n", c.Int("limit"), c.Bool("all"), c.StringSlice("header"), c.Args().Slice())
					return fail
				},
			},
			{Name: "lister", Usage: "take a command line of Lister", SkipFlagParsing: true, Action: func(*cli.Context) error { return nil }},
			{Name: "convert", Usage: "convert a file", Action: func(c *cli.Context) error {
				fmt.Fprintf(c.App.Writer, "convert %q\n", c.Args().Slice())
				return nil
			}},
		},
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) (path string) {
		path = filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := file("c.yaml", "limit: 7\nheader: [a, 'b: 1,2']\n")
	unknown := file("u.yaml", "all: true\nlimits: 7\n")
	noUnit := file("n.yaml", "within: 5\n")
	twice := file("t.yaml", "limit: 7\n---\nlimit: 8\n")
	empty := file("e.yaml", "# nothing yet\n")
	large := file("l.yaml", "# "+strings.Repeat("x", 1<<20))
	likeCommand := file("reports", "")
	t.Chdir(dir)
	for _, tt := range []struct {
		name   string
		args   string
		env    string
		empty  bool // the variable is there, and empty
		fail   error
		code   int
		stdout string // contained
		stderr string
	}{
		{name: "default command", args: "a.json", stdout: `limit=10 all=false header=[] args=["a.json"]`},
		{name: "named command", args: "report -n 3 a.json", stdout: `limit=3 all=false`},
		{name: "flags after arguments", args: "a.json --limit 3 b.json --all", stdout: `limit=3 all=true header=[] args=["a.json" "b.json"]`},
		{name: "flag=value after arguments", args: "a.json --limit=3", stdout: `limit=3`},
		{name: "after -- all are arguments", args: "--all -- --limit 3", stdout: `all=true header=[] args=["--limit" "3"]`},
		{name: "a dash is an argument", args: "- --all", stdout: `all=true header=[] args=["-"]`},
		{name: "commas do not split", args: "-H|a: 1,2|-H|b", stdout: `header=["a: 1,2" "b"]`},
		{name: "two names of one flag", args: "-H a --header b", stdout: `header=["a" "b"]`},
		{name: "a value with a dash", args: "--limit -1", stdout: `limit=-1`},
		{name: "other command", args: "convert a b", stdout: `convert ["a" "b"]`},
		{name: "environment", args: "a", env: "4", stdout: `limit=4`},
		{name: "a flag beats the environment", args: "-n 5 a", env: "4", stdout: `limit=5`},
		{name: "config file", args: "--config " + config, stdout: `limit=7 all=false header=["a" "b: 1,2"]`},
		{name: "the environment beats the file", args: "--config " + config, env: "4", stdout: `limit=4`},
		{name: "an empty variable is none", args: "a", empty: true, stdout: `limit=10`},
		{name: "a flag beats the file", args: "-n 5 --config " + config, stdout: `limit=5`},
		{name: "version", args: "--version", stdout: "tool 1.2.3\n"},
		{name: "version of a command", args: "report --version", stdout: "tool 1.2.3\n"},
		{name: "help", args: "--help", stdout: "Examples:\n  # the common case\n  tool run.json\n"},
		{name: "help of a command", args: "report -h", stdout: "-n, --limit N"},
		{name: "help as a word", args: "help report", stdout: "-n, --limit N"},

		{name: "misspelt command", args: "convret a b", code: 2, stderr: "tool: unknown command convret; did you mean convert?\n"},
		{name: "misspelt command, two letters", args: "reprots a", code: 2, stderr: "did you mean report?"},
		{name: "start of a command", args: "conv a b", code: 2, stderr: "did you mean convert?"},
		{name: "misspelt command of help", args: "help convret", code: 2, stderr: "did you mean convert?"},
		{name: "a file that is like a command", args: filepath.Base(likeCommand), stdout: `args=["reports"]`},
		{name: "not like a command", args: "run.json convret", stdout: `args=["run.json" "convret"]`},
		{name: "a command between", args: "report convret", stdout: `args=["convret"]`},
		{name: "unknown flag", args: "--nope", code: 2, stderr: "tool: unknown flag --nope\n"},
		{name: "misspelt flag", args: "--limi 3", code: 2, stderr: "did you mean --limit?"},
		{name: "unknown flag after an argument", args: "a.json --nope", code: 2, stderr: "unknown flag --nope"},
		{name: "flag with another command", args: "convert a --limit 3", code: 2, stderr: "tool: unknown flag --limit; it belongs to tool report\n"},
		{name: "help on a topic", args: "report --help=out", stdout: "Output:\n  -n, --limit N"},
		{name: "help on a topic behind a blank", args: "report --help output", stdout: "Output:\n  -n, --limit N"},
		{name: "help on a topic of the default command", args: "--help output", stdout: "Output:\n  -n, --limit N"},
		{name: "help as a word on a topic", args: "help report input", stdout: "Input:\n  -H, --header HEADER"},
		{name: "help on the commands", args: "help commands", stdout: "Commands:\n  report"},
		{name: "a flag behind help is no topic", args: "report --help -n 3", stdout: "-n, --limit N"},
		{name: "help as a word on no topic", args: "help nothing", code: 2, stderr: "tool: --help nothing: no such topic; expected one of output, "},
		{name: "help on all topics", args: "report --help=all", stdout: "Output:\n  -n, --limit N"},
		{name: "help on no topic", args: "report --help=x", code: 2, stderr: "tool: --help x: no such topic; expected one of output, flags, input, all\n"},
		{name: "renamed flag", args: "a.json --lines 7", code: 2, stderr: "unknown flag --lines; use --limit 7"},
		{name: "renamed flag, joined value", args: "a.json --lines=7.5", code: 2, stderr: "unknown flag --lines; use --limit 7.5"},
		{name: "renamed flag without a number", args: "a.json --lines --csv", code: 2, stderr: "unknown flag --lines; use --limit N"},
		{name: "renamed flag with what may be secret", args: "a.json --place x:secret@y", code: 2, stderr: "unknown flag --place; use --header NAME"},
		{name: "renamed flag of another command", args: "a.json --port 7", code: 2, stderr: "unknown flag --port\n"},
		{name: "unsupported flag", args: "a.json --csv=1", code: 2, stderr: "flag --csv is not supported: use --format"},
		{name: "no value", args: "a.json --limit", code: 2, stderr: "flag --limit needs a value"},
		{name: "bad value", args: "--limit x a.json", code: 2, stderr: `flag --limit: "x" is not a valid value: expected a whole number`},
		{name: "a unit too many", args: "--interval 1.5s", code: 2, stderr: `flag --interval: "1.5s" is not a valid value: expected milliseconds without a unit; write 1500`},
		{name: "a unit that is too small", args: "--interval 500us", code: 2, stderr: `flag --interval: "500us" is not a valid value: expected whole milliseconds without a unit` + "\n"},
		{name: "no milliseconds", args: "--interval often", code: 2, stderr: `flag --interval: "often" is not a valid value: expected a whole number`},
		{name: "another program's flag", args: "--rows 5", code: 2, stderr: "unknown flag --rows; it belongs to tool lister\n"},
		{name: "no unit", args: "--within 1.5", code: 2, stderr: `flag --within: "1.5" is not a valid value: it has no unit; write 1.5s, 1.5ms or 1.5m`},
		{name: "no duration", args: "--within soon", code: 2, stderr: `flag --within: "soon" is not a valid value: expected a duration such as 30s`},
		{name: "no truth", args: "--all=perhaps", code: 2, stderr: `flag --all: "perhaps" is not a valid value: expected true or false`},
		{name: "no unit in a config file", args: "--config " + noUnit, code: 2, stderr: `n.yaml:1: within: "5" is not a valid value: it has no unit; write 5s`},
		{name: "bad value in the environment", args: "a.json", env: "x", code: 2, stderr: `tool: $TOOL_LIMIT: "x" is not a valid value: expected a whole number`},
		{name: "no config", args: "--config nowhere.yaml", code: 2, stderr: "nowhere.yaml"},
		{name: "unknown key", args: "--config " + unknown, code: 2, stderr: `u.yaml:2: unknown key "limits"; did you mean limit?`},
		{name: "second document of a config file", args: "--config " + twice, code: 2, stderr: "t.yaml: holds a second YAML document; put all flags into one"},
		{name: "empty config file", args: "--config " + empty, stdout: "limit=10"},
		{name: "large config file", args: "--config " + large, code: 2, stderr: "l.yaml: is larger than 1048576 bytes"},
		{name: "folder as a config file", args: "--config " + dir, code: 2, stderr: "is a directory; expected a regular file"},
		{name: "error", args: "a", fail: errors.New("a: it broke"), code: 1, stderr: "tool: a: it broke\n"},
		{name: "usage error of an action", args: "a", stdout: "limit", fail: Usagef("give one file"), code: 2, stderr: "tool: give one file\n"},
		{name: "exit code", args: "a", fail: &CodeError{Code: 3, Err: errors.New("gate")}, code: 3, stderr: "tool: gate\n"},
		{name: "silent exit code", args: "a", fail: &CodeError{Code: 130}, code: 130},
		{name: "several errors", args: "a", fail: errors.Join(errors.New("one"), errors.New("two")), code: 1, stderr: "tool: one\ntool: two\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.env != "" || tt.empty {
				t.Setenv("TOOL_LIMIT", tt.env)
			}
			args := strings.Fields(tt.args)
			if strings.Contains(tt.args, "|") {
				args = strings.Split(tt.args, "|")
			}
			var stdout, stderr strings.Builder
			code := testApp(tt.fail).Run(t.Context(), append([]string{"tool"}, args...), strings.NewReader(""), &stdout, &stderr)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(stdout.String(), tt.stdout) || tt.stdout == "" && tt.code == 2 && stdout.Len() > 0 {
				t.Errorf("stdout %q, want %q, and nothing for a usage error", stdout.String(), tt.stdout)
			}
			if !strings.Contains(stderr.String(), tt.stderr) || tt.code == 0 && stderr.Len() > 0 {
				t.Errorf("stderr %q, want %q", stderr.String(), tt.stderr)
			}
			if tt.code == 2 && strings.Count(stderr.String(), "\n") != 2 && !strings.Contains(tt.stderr, "no such topic") {
				t.Errorf("usage error of %d lines, want the error and the hint:\n%s", strings.Count(stderr.String(), "\n"), stderr.String())
			}
		})
	}
}

// The action of a flag sees its value from wherever it comes, and its error ends the command before
// the command's action.
func TestFlagAction(t *testing.T) {
	config := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(config, []byte("limit: 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, env string }{{"--limit 0", ""}, {"", "0"}, {"--config " + config, ""}} {
		t.Setenv("TOOL_LIMIT", tt.env)
		app := testApp(nil)
		app.Commands[0].Flags[0].(*cli.IntFlag).Action = func(_ *cli.Context, n int) error { return Usagef("--limit %d: too small", n) }
		var stdout, stderr strings.Builder
		code := app.Run(t.Context(), append([]string{"tool", "report"}, strings.Fields(tt.args)...), nil, &stdout, &stderr)
		if code != ExitUsage || !strings.HasPrefix(stderr.String(), "tool: --limit 0: too small\n") || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, %q, %q; want the error of the flag alone", tt, code, stdout.String(), stderr.String())
		}
	}
}

// A flag that is given twice, with two values, is named: the last one counts. Lists take both.
func TestFlagGivenTwice(t *testing.T) {
	const note = "tool: note: --limit is given more than once; the last one counts\n"
	for args, want := range map[string]string{"--limit 3 -n 5": note, "--limit 3 --limit=4 a -n 5": note + note, "-n 5 --limit 5 --all --all": "", "-n 5 -H a -H b": ""} {
		var stdout, stderr strings.Builder
		code := testApp(nil).Run(t.Context(), append([]string{"tool", "report"}, strings.Fields(args)...), nil, &stdout, &stderr)
		if code != ExitOK || stderr.String() != want || !strings.HasPrefix(stdout.String(), "limit=5 ") {
			t.Errorf("%s: exit code %d, %q, stderr %q, want %q", args, code, stdout.String(), stderr.String(), want)
		}
	}
}

// Each program reads environment variables with a prefix of its own.
func TestEnvPrefix(t *testing.T) {
	for name, want := range map[string]string{"pa-record": "PA_RECORD_", "pa-analyze": "PA_ANALYZE_"} {
		if got := (App{Name: name}).envPrefix(); got != want {
			t.Errorf("%s reads %s…, want %s…", name, got, want)
		}
	}
}

// A message about an unknown flag suggests the flags with the least edit distance.
func TestNearestFlags(t *testing.T) {
	record := []string{"m", "model", "concurrency-range", "request-count", "warmup-request-count", "request-rate-range", "max-error-rate", "trace-rate", "streaming", "stability-percentage", "url", "u"}
	report := []string{"format", "f", "from", "slo", "slo-gate", "tokenizer", "windows"}
	for _, tt := range []struct {
		name  string
		names []string
		want  string
	}{
		{"concurency-range", record, "concurrency-range"},
		{"requestcount", record, "request-count"},
		{"rate", record, "request-rate-range max-error-rate trace-rate"},
		{"stream", record, "streaming"},
		{"ur1", record, "url"},
		{"x", record, ""},   // one letter is no misspelling
		{"uuu", record, ""}, // nor is one ever meant
		{"output-tokens", record, ""},
		{"fromat", report, "format"}, // and not from
		{"form", report, "from"},
		{"wndows", report, "windows"},
		{"slos", report, "slo"},
		{"gate", report, "slo-gate"},
		{"format", append(report, report...), "format"}, // each once
	} {
		if got := strings.Join(NearestFlags(tt.name, tt.names), " "); got != tt.want {
			t.Errorf("--%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// An error about something else than the form of the command line names no help
// page.
func TestNoHelpHint(t *testing.T) {
	var stdout, stderr strings.Builder
	code := testApp(Refusedf("a.json is there")).Run(t.Context(), []string{"tool", "a"}, strings.NewReader(""), &stdout, &stderr)
	if code != 2 || stderr.String() != "tool: a.json is there\n" {
		t.Errorf("exit code %d, %q, want 2 and the error alone", code, stderr.String())
	}
}

// The hint of a usage error names the help page with the flags in question.
func TestUsageHint(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--nope", "tool report --help"}, // the default command
		{"report --nope", "tool report --help"},
		{"convert --nope", "tool convert --help"},
		{"convert a --limit 3", "tool convert --help"},
		{"a.json --limit x", "tool report --help"},
		{"a.json", "tool report --help"}, // its action says so
		{"convret a", "tool --help"},
	} {
		var stdout, stderr strings.Builder
		code := testApp(Usagef("not so")).Run(t.Context(), append([]string{"tool"}, strings.Fields(tt.args)...), strings.NewReader(""), &stdout, &stderr)
		if want := "run '" + tt.want + "' for usage\n"; code != 2 || !strings.HasSuffix(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q, want %q", tt.args, code, stderr.String(), want)
		}
	}
}

// A flag of App.Bare may have no value.
func TestBareFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--limit": `limit=7`, "--limit 3": `limit=3 all=false header=[] args=[]`, "--limit=3": `limit=3`, "--limit --header a": `limit=7 all=false header=["a"]`,
	} {
		app := testApp(nil)
		app.Bare = map[string]string{"limit": "7"}
		var stdout, stderr strings.Builder
		app.Run(t.Context(), append([]string{"tool", "report"}, strings.Fields(args)...), strings.NewReader(""), &stdout, &stderr)
		if !strings.Contains(stdout.String()+stderr.String(), want) {
			t.Errorf("%s: %s%s, want %q", args, stdout.String(), stderr.String(), want)
		}
	}
}

func TestGetoptForms(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string // of standard output, or of the error
	}{
		{"-n3 a", `limit=3 all=false header=[] args=["a"]`},
		{"-n=3", `limit=3`},
		{"-Ha:b", `header=["a:b"]`},
		{"-H a --header b -H=c", `header=["a" "b" "c"]`},
		{"-An3", `limit=3 all=true`},
		{"a --lim 3 --al", `limit=3 all=true header=[] args=["a"]`},
		{"--lim=3", `limit=3`},
		{"--nope", "unknown flag --nope"},
		{"-z", "unknown flag -z"},
		{"-Az", "unknown flag --Az"},
		{"-n", "flag -n needs a value"},
		{"-An", "flag -n needs a value"},
		{"--h", "unknown flag -h"},
	} {
		app := testApp(nil)
		app.GetoptForms = true
		for _, f := range app.Commands[0].Flags {
			if b, ok := f.(*cli.BoolFlag); ok {
				b.Aliases = []string{"A"}
			}
		}
		var stdout, stderr strings.Builder
		app.Run(t.Context(), append([]string{"tool", "report"}, strings.Fields(tt.args)...), strings.NewReader(""), &stdout, &stderr)
		if !strings.Contains(stdout.String()+stderr.String(), tt.want) {
			t.Errorf("%s: %s%s, want %q", tt.args, stdout.String(), stderr.String(), tt.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"abc", "abc", 0},
		{"requets", "requests", 1},   // insert
		{"requestss", "requests", 1}, // delete
		{"reqvests", "requests", 1},  // replace
		{"reqeusts", "requests", 1},  // swap
		{"ab", "ba", 1},
		{"abcd", "badc", 2},
		{"report", "convert", 5},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestHelpWidth(t *testing.T) {
	for _, args := range [][]string{{"tool", "--help"}, {"tool", "report", "--help"}} {
		var stdout, stderr strings.Builder
		if code := testApp(nil).Run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Fatalf("%v: exit code %d", args, code)
		}
		for line := range strings.Lines(stdout.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("%v: line of %d columns: %q", args, n, line)
			}
		}
	}
}

func TestNoCommand(t *testing.T) {
	app := App{Name: "tool", Commands: []*cli.Command{{Name: "a"}}}
	var stdout, stderr strings.Builder
	if code := app.Run(t.Context(), []string{"tool"}, strings.NewReader(""), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "no command given") {
		t.Errorf("exit code %d, stderr %q; want 2 and a hint", code, stderr.String())
	}
}

// A first screen shows the common flags, in their order, and names commands and topics;
// all shows the whole page.
func TestFirstScreen(t *testing.T) {
	app := testApp(nil)
	app.CommonFlags = map[string][]CommonFlag{"report": {{"header", "the `HEADER`"}, {"limit", "at most `N` rows"}}}
	help := func(args ...string) string {
		t.Helper()
		var stdout, stderr strings.Builder
		if code := app.Run(t.Context(), append([]string{"tool"}, args...), strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, stderr.String())
		}
		return stdout.String()
	}
	want := `tool report: print a report

Usage: tool report [flags] FILE…

Flags that most people need:
  -H, --header HEADER         the HEADER
  -n, --limit N               at most N rows

Topics:   output, flags, input, all ('tool report --help TOPIC')
Every flag can be set by an environment variable, e.g. TOOL_LIMIT.
`
	if got := help("report", "--help"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := help("report", "--help", "all"); !strings.Contains(got, "\n  --within DURATION") {
		t.Errorf("--help all lacks a flag:\n%s", got)
	}
}

// Errors, warnings and notes are reworded, and a usage error names the help page that is set. Other text stays.
func TestReword(t *testing.T) {
	app := testApp(nil)
	app.Action, app.Default, app.HelpPage = func(c *cli.Context) error {
		fmt.Fprint(c.App.ErrWriter, "tool: warning: old\ntool: note: old\ntool: wrote old\n")
		return Usagef("old")
	}, "", "other command"
	app.Reword = func(message string) string { return strings.ReplaceAll(message, "old", "new") }
	var stdout, stderr strings.Builder
	app.Run(t.Context(), []string{"tool"}, strings.NewReader(""), &stdout, &stderr)
	if want := "tool: warning: new\ntool: note: new\ntool: wrote old\ntool: new\nrun 'other command --help' for usage\n"; stderr.String() != want {
		t.Errorf("%q, want %q", stderr.String(), want)
	}
}
