package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/test/commandtest"
	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
)

var update = flag.Bool("update", false, "rewrite the expected output in scripts")

// program is pa-analyze for scripts.
var program = commandtest.Program{
	Name: "pa-analyze",
	Main: main,
	Run: func(args []string, stdout, stderr io.Writer) int {
		return run(context.Background(), args, strings.NewReader(""), stdout, stderr)
	},
}

func TestMain(m *testing.M) { program.TestMain(m) }

func TestScripts(t *testing.T) {
	program.Scripts(t, testscript.Params{Dir: "testdata/script", UpdateScripts: *update})
}

// result is what one run of the command did.
type result struct {
	code           int
	stdout, stderr string
}

func exec(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"pa-analyze"}, args...), strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// goldenFiles writes the exports of real perf_analyzer runs to a folder and
// calls f for each with its name and path.
func goldenFiles(t *testing.T, f func(name, file string, content []byte, fsys fs.FS)) {
	t.Helper()
	fsys := golden.FS(t, "perf_analyzer")
	dir := t.TempDir()
	golden.Each(t, "perf_analyzer", "profile_export.json", 105, func(p string, b []byte) {
		file := filepath.Join(dir, strings.ReplaceAll(path.Dir(p), "/", "_")+".json")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f(path.Dir(p), file, b, fsys)
	})
}

// The commands print what NVIDIA's scripts print, character for character, or an error in one
// line where the scripts end in a traceback. The scripts cannot read files that are not UTF-8;
// pa-analyze prints a line for such a file, too. make test takes one in three of the exports with
// an average, and all others.
func TestGoldenAverages(t *testing.T) {
	n := 0
	goldenFiles(t, func(name, file string, content []byte, fsys fs.FS) {
		n++
		for _, s := range []struct{ command, file string }{
			{"avg-first-token", "avg_first_token.txt"}, {"avg-token-to-token", "avg_token_to_token.txt"},
		} {
			b, err := fs.ReadFile(fsys, path.Join(name, s.file))
			want := string(b)
			if strings.HasPrefix(want, "Average ") && n%testenv.Stride(3) > 0 {
				continue // in make test, one average in three, and all errors
			}
			got := exec(t, "", s.command, file)
			switch {
			case err != nil && len(content) <= 2: // {}: a file that was there before the run
				want = ""
			case err != nil:
				t.Errorf("%s: %v", name, err)
			}
			switch {
			case strings.HasPrefix(want, "Average "):
				if got.code != 0 || got.stdout != want || got.stderr != "" {
					t.Errorf("%s %s: %+v, want %q", s.command, name, got, want)
				}
			case strings.HasPrefix(want, "UnicodeDecodeError"):
				if got.code == 0 && !strings.HasPrefix(got.stdout, "Average ") || got.code == 1 && !strings.Contains(got.stderr, "two responses") {
					t.Errorf("%s %s: %+v, want an average", s.command, name, got)
				}
			default:
				if got.code != 1 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.HasPrefix(got.stderr, "pa-analyze: "+file+": ") {
					t.Errorf("%s %s: %+v, want an error in one line", s.command, name, got)
				}
			}
		}
	})
}

// Every export of perf_analyzer comes out of convert as it went in, also when something indented
// it on the way. make test takes one export in three, and all exports that are not UTF-8.
func TestGoldenConvert(t *testing.T) {
	n := 0
	goldenFiles(t, func(name, file string, content []byte, _ fs.FS) {
		if n++; len(content) <= 2 || n%testenv.Stride(3) > 0 && utf8.Valid(content) {
			return
		}
		out := file + ".out.json"
		if got := exec(t, "", "convert", file, out); got.code != 0 || got.stdout+got.stderr != "" {
			t.Errorf("%s: %+v", name, got)
			return
		}
		b, err := os.ReadFile(out)
		if err != nil || !bytes.Equal(b, content) {
			t.Errorf("%s: converted file differs (%v)", name, err)
		}
		if !utf8.Valid(content) {
			return // json.Indent would replace bytes
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, content, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		if got := exec(t, indented.String(), "convert", "-", "-"); got.code != 0 || got.stdout != string(content) {
			t.Errorf("%s: indented and converted, exit code %d, %s: differs", name, got.code, got.stderr)
		}
	})
}

// Every command reads every export without a complaint. make test gives an export to one command
// in five, and an export that is not UTF-8 to all.
func TestGoldenCommands(t *testing.T) {
	n := 0
	goldenFiles(t, func(name, file string, content []byte, _ fs.FS) {
		want := 0
		if len(content) <= 2 {
			want = 1
		}
		n++
		for i, args := range [][]string{
			{file},
			{file, "--percentiles"},
			{"report", "--format", "json", file},
			{"report", file, "--format=csv"},
			{"report", file, "--format=markdown", "--slo", "ttft<=1s && itl_p99<=50ms || output_tokens>=3"},
			{"report", file, "--trim-start", "10%", "--trim-end", "10%"},
			{"requests", file},
			{"requests", file, "--sort", "-e2el_ns", "--format", "jsonl"},
			{"validate", file},
		} {
			if (n+i)%testenv.Stride(5) > 0 && utf8.Valid(content) {
				continue
			}
			got := exec(t, "", args...)
			if got.code != want {
				t.Errorf("%s: %q: exit code %d: %s", name, args, got.code, got.stderr)
			}
			if want == 1 && strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("%s: %q: errors %q, want one line", name, args, got.stderr)
			}
		}
	})
}

// A file cut at any place gives what was readable, then says where it broke
// off.
func TestCutFiles(t *testing.T) {
	content, err := fs.ReadFile(golden.FS(t, "perf_analyzer"), "2.60.0/vllm_request_count/profile_export.json")
	if err != nil {
		t.Fatal(err)
	}
	for cut := 30; cut < len(content)-1; cut += 97 {
		got := exec(t, string(content[:cut]), "report", "-")
		last := got.stderr[strings.LastIndex("\n"+strings.TrimSuffix(got.stderr, "\n"), "\n"):]
		if got.code != 1 || !strings.Contains(last, fmt.Sprintf("byte %d", cut)) || strings.Count(got.stderr, "\n")-strings.Count(got.stderr, "pa-analyze: warning: ") != 1 {
			t.Errorf("cut at %d: exit code %d, %q, want 1 and one line with the place, beside warnings", cut, got.code, got.stderr)
		}
		if !strings.HasPrefix(got.stdout, "-\n  recorded by") {
			t.Errorf("cut at %d: no report: %q", cut, got.stdout)
		}
	}
}

// The guards against the traps of urfave/cli, at this command's own flags.
func TestCommandLine(t *testing.T) {
	const file = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1,"response_timestamps":[3,5],"response_outputs":[{"t":"a"},{"t":"b"}]}],"window_boundaries":[0,9]}],"version":""}`
	in := filepath.Join(t.TempDir(), "a,b.json")
	if err := os.WriteFile(in, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		stdout string // contained; "" for nothing at all
		stderr string // contained; "" for nothing at all
	}{
		{"flags after arguments", []string{in, "--format", "json"}, 0, `"schema": "pa-report/1"`, ""},
		{"flags after arguments of a command", []string{"requests", in, "--format=csv", "--limit", "1"}, 0, "experiment,level", ""},
		{"values are not split at commas", []string{in, "--experiment", "1,2"}, 1, "", `no load level "1,2"`},
		{"repeated flags", []string{in, "--experiment", "1", "--experiment", "concurrency:1.0"}, 0, "concurrency 1", ""},
		{"unknown flag behind an argument", []string{in, "--nope"}, 2, "", "unknown flag --nope"},
		{"a flag of another command", []string{"validate", in, "--format", "csv"}, 2, "", "unknown flag --format"},
		{"completion of half a flag does not panic", []string{"report", "--form", "--generate-bash-completion"}, 2, "", "unknown flag --form"},
		{"no file", []string{"report"}, 2, "", "no file given"},
		{"nothing at all", nil, 2, "", "pa-analyze --help"},
		{"two files for one", []string{"avg-first-token", in, in}, 2, "", "takes one"},
		{"standard input twice", []string{"-", "-"}, 2, "", "only once"},
		{"bad format", []string{in, "--format", "xml"}, 2, "", `--format "xml": give one of table, csv, json, markdown`},
		{"bad window", []string{in, "--window", "5"}, 2, "", `--window "5": give FROM:TO, two durations since the start, such as 30s:90s, 30s: or :90s`},
		{"an empty window", []string{in, "--window", ""}, 2, "", `--window "": give FROM:TO`},
		{"bad trim", []string{in, "--trim-start", "5"}, 2, "", `--trim-start "5": give a duration such as 10s or a share of the level such as 5%`},
		{"bad trim at the end", []string{in, "--trim-end", "100%"}, 2, "", `--trim-end "100%": give 0% or more and less than 100%`},
		{"trims of all", []string{in, "--trim-end", "50%", "--trim-start", "50%"}, 2, "", "trimming 50% and 50% leaves nothing"},
		{"window and trim", []string{in, "--window", "1s:", "--trim-end", "1s"}, 2, "", "exclude each other"},
		{"steady state and window", []string{in, "--steady-state", "--window", "1s:"}, 2, "", "exclude each other"},
		{"bad windows", []string{in, "--windows", "0s"}, 2, "", `--windows "0s": give a duration such as 10s, or recorded`},
		{"bad SLO", []string{in, "--slo", "ttft<=200"}, 2, "", `--slo: column 7: "200": a duration needs a unit: 200ms or 200s`},
		{"empty SLO", []string{in, "--slo", ""}, 2, "", "--slo: column 1: an expression is missing"},
		{"bad target", []string{in, "--slo", "ttft<1s", "--slo-target", "101%"}, 2, "", `--slo-target "101%": give a share above 0 and at most 100%, such as 99% or 0.99`},
		{"a target of nothing", []string{in, "--slo-target", "90%"}, 2, "", "--slo-target needs --slo"},
		{"a gate of nothing", []string{in, "--slo-gate"}, 2, "", "--slo-gate needs --slo"},
		{"a gate that is met", []string{in, "--slo", "ttft<=2ns && itl_max<=2ns", "--slo-gate"}, 0, "100.0% (1 of 1 request)", ""},
		{"a gate that is not met", []string{in, "--slo", "ttft<2ns", "--slo-gate"}, 3, "0% (0 of 1 request)", "0% of the requests meet the SLO, less than 99%"},
		{"a gate that cannot be told", []string{in, "--slo", "cached_tokens<5", "--slo-gate"}, 3, "n/a (no request has cached_tokens)", "not known"},
		{"a gate and a file that is not there", []string{in, in + "x", "--slo", "ttft<2ns", "--slo-gate"}, 1, "0% (0 of 1 request)", "x: no such file"},
		{"a window outside", []string{in, "--window", "9s:"}, 1, "", "window 9s: is outside the run (0s to 0.000000009s)"},
		{"bad from", []string{in, "--from", "end"}, 2, "", "--from"},
		{"bad token source", []string{in, "--token-source", "guess"}, 2, "", "--token-source"},
		{"bad limit", []string{"requests", in, "--limit", "-1"}, 2, "", "--limit -1"},
		{"bad sort", []string{"requests", in, "--sort", "status"}, 2, "", `--sort "status"`},
		{"bad memory-limit", []string{in, "--memory-limit", "1000"}, 2, "", "--memory-limit 1000: give at least 128000000 bytes"},
		{"memory-limit of a dialect", []string{in, "--dialect", "genai-perf-24.05", "--memory-limit", "1000"}, 2, "", "--memory-limit 1000: give at least 128000000 bytes"},
		{"bad memory-limit of definitions", []string{"definitions", in, "--memory-limit", "1000"}, 2, "", "--memory-limit 1000: give at least 128000000 bytes"},
		{"bad max-value", []string{in, "--max-value", "0"}, 2, "", "--max-value 0"},
		{"one argument for convert", []string{"convert", in}, 2, "", "1 argument given; pa-analyze convert takes IN and OUT"},
		{"misspelt command", []string{"requets", in}, 2, "", "unknown command requets; did you mean requests?"},
		{"unknown command", []string{"compare", in, in}, 2, "", "unknown command compare, and no file has that name; pa-analyze --help lists the commands"},
		{"a page of the report", []string{in, "--html", "x"}, 2, "", "unknown flag --html; use --format html -o FILE"},
		{"a level of the report", []string{in, "--concurrency", "4"}, 2, "", "unknown flag --concurrency; use --experiment 4"},
		{"unknown suffix", []string{"convert", in, "x.csv"}, 2, "", "end it in .json"},
		{"version", []string{"--version"}, 0, "pa-analyze dev\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := exec(t, "", tt.args...)
			if got.code != tt.code || !strings.Contains(got.stdout, tt.stdout) || !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("%+v, want %d, %q, %q", got, tt.code, tt.stdout, tt.stderr)
			}
			if tt.stdout == "" && got.stdout != "" || tt.stderr == "" && got.stderr != "" {
				t.Errorf("%+v: unexpected output", got)
			}
		})
	}
}

// The first screen of each command's help has at most 40 lines. It fits a terminal and
// starts with what the command is for. The whole page shows every flag.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"report", "--help"}, {"avg-first-token", "-h"}, {"avg-token-to-token", "-h"}, {"requests", "-h"}, {"validate", "-h"}, {"convert", "-h"}, {"diff", "-h"}, {"definitions", "-h"}, {"tokenize", "-h"}} {
		got := exec(t, "", args...)
		if got.code != 0 || got.stderr != "" {
			t.Errorf("%q: %+v", args, got)
		}
		if n := strings.Count(got.stdout, "\n"); n > 40 {
			t.Errorf("%q: %d lines", args, n)
		}
		for line := range strings.Lines(got.stdout) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%q: %d columns: %s", args, n, line)
			}
		}
	}
	top := exec(t, "", "--help").stdout
	if strings.Count(top, "  # ") != 5 || strings.Index(top, "Examples:") > 80 {
		t.Errorf("help does not start with five examples:\n%s", top)
	}
	// The examples of a command write different files, so that they can be pasted one after the other.
	outputs := regexp.MustCompile(`(?m)^  pa-analyze plot .* -o (\S+)$`).FindAllStringSubmatch(exec(t, "", "plot", "--help").stdout, -1)
	written := map[string]bool{}
	for _, m := range outputs {
		written[m[1]] = true
	}
	if len(outputs) < 5 || len(written) != len(outputs) {
		t.Errorf("the examples of plot write %q", outputs)
	}
	for topic, want := range map[string]string{"objective": "--slo-target SHARE", "dialect": "--goodput LIMITS", "all": "--slo-target SHARE"} {
		if got := exec(t, "", "report", "--help", topic); got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("report --help %s: %+v, want %s", topic, got, want)
		}
	}
}

// A signal ends the reading; the exit code says which, and nothing is left of
// a file that was being written.
func TestInterrupted(t *testing.T) {
	content, err := fs.ReadFile(golden.FS(t, "perf_analyzer"), "2.60.0/vllm_sweep/profile_export.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "in.json")
	if err := os.WriteFile(in, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		for _, args := range [][]string{{in}, {"requests", in}, {"validate", in}, {"convert", in, filepath.Join(dir, "out.json")}} {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(cmdline.SignalError{Signal: tt.signal})
			var stdout, stderr bytes.Buffer
			code := run(ctx, append([]string{"pa-analyze"}, args...), strings.NewReader(""), &stdout, &stderr)
			if code != tt.code || !strings.Contains(stderr.String(), "ended by") {
				t.Errorf("%v, %v: exit code %d, %q, want %d", args, tt.signal, code, stderr.String(), tt.code)
			}
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
