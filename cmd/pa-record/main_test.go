package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/urfave/cli/v2"
	"go.uber.org/goleak"

	"github.com/pa-tools/pa/internal/heap"
	"github.com/pa-tools/pa/internal/test/commandtest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// childEnv makes the test binary be pa-record, for tests that need it in a
// process of its own.
const childEnv = "PA_RECORD_TEST_MAIN"

// limitChild gives such a process the limits that its environment asks for; it
// is set where the system has them.
var limitChild = func() {}

// program is pa-record for scripts.
var program = commandtest.Program{
	Name: "pa-record",
	Main: main,
	Run: func(args []string, stdout, stderr io.Writer) int {
		env := newEnvironment(os.Getenv, make(chan os.Signal))
		return run(context.Background(), args, env, strings.NewReader(""), stdout, stderr)
	},
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		limitChild()
		main()
	}
	debug.SetGCPercent(heap.MostGCPercent) // as main does
	testenv.MoreParallel()
	program.TestMain(leakChecked{m})
}

// leakChecked fails the tests when they leave goroutines behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := l.m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString("goroutines left behind:\n" + err.Error() + "\n")
			return 1
		}
	}
	return code
}

// scriptEnv marks a process of the tests that runs one script.
const scriptEnv = "PA_RECORD_TEST_SCRIPT"

// eachScript runs the scripts of a folder at the same time as other tests. Each has a process of
// its own, which runs the commands of the script without further processes but has only one
// working directory. With the race detector, which slows the machine down, a script runs alone.
func eachScript(t *testing.T, params testscript.Params) {
	if testenv.IsLong() || testenv.Race || os.Getenv(scriptEnv) != "" {
		program.Scripts(t, params)
		return
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join(params.Dir, "*.txtar"))
	if err != nil || scripts == nil {
		t.Fatalf("no scripts in %s (%v)", params.Dir, err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// testscript leaves its folder behind in a process that -test.run keeps from other scripts. The name is
			// short, because scripts have Unix sockets.
			tmp, err := os.MkdirTemp("", "pa")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(tmp)
			cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.run=^"+t.Name()[:len(t.Name())-len(name)-1]+"$/^"+name+"$")
			cmd.Env = append(os.Environ(), scriptEnv+"=1", "GOTMPDIR="+tmp)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
				t.Fatalf("%v:\n%s", err, out)
			}
		})
	}
}

// freeAddress returns an address at which nothing listens. Other processes of these tests start at other ports, and
// the kernel gives none of these to a client.
func freeAddress() string {
	for port := 20000 + os.Getpid()%8000; ; port++ {
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
}

func TestScript(t *testing.T) {
	eachScript(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("OPENAI_API_KEY", "")
			e.Setenv("BARRIER", freeAddress())
			return nil
		},
	})
}

func TestHelpWidth(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"--help", "all"}, {"inputs", "--help"}, {"sim", "--help"}, {"calibrate", "--help"}} {
		code, stdout, _ := inProcess(t.Context(), t, args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d", args, code)
		}
		for line := range strings.Lines(stdout) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("%v: line of %d columns: %s", args, n, line)
			}
		}
	}
}

// The first screen of the help fits a terminal of 40 lines and begins with five examples,
// each a command line that pa-record accepts. Each writes another file, so that they can be
// pasted one after the other.
func TestFirstScreen(t *testing.T) {
	_, page, _ := inProcess(t.Context(), t, "--help")
	if n := strings.Count(page, "\n"); n > 40 {
		t.Errorf("%d lines, want at most 40:\n%s", n, page)
	}
	examples := recordApp(nil, environment{}, nil).Examples
	if len(examples) != 5 {
		t.Errorf("%d examples, want 5", len(examples))
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("prompts.json", []byte(`{"data": [{"text_input": ["a"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, e := range examples {
		args := strings.Fields(strings.ReplaceAll(e.Line, "\\\n", " ") + " --dry-run")[1:]
		code, stdout, stderr := inProcess(t.Context(), t, args...)
		if code != 0 {
			t.Errorf("%s: exit code %d: %s", e.Line, code, stderr)
		}
		var plan struct {
			Files []string `json:"profile_export_file"`
		}
		if err := json.Unmarshal([]byte(stdout), &plan); err != nil || len(plan.Files) != 1 {
			t.Errorf("%s: files %v, error %v", e.Line, plan.Files, err)
		}
		if !strings.Contains(e.Line, "--dry-run") {
			written[plan.Files[0]] = true
		}
	}
	if len(written) != 4 {
		t.Errorf("4 examples write the files %v", written)
	}
}

// The help page and the simulator's page list every fault and model of the simulator.
func TestSimDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	code, page, _ := inProcess(t.Context(), t, "sim", "--help")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	listed := func(name, does string) {
		if row := fmt.Sprintf("\n| `%s` | %s |\n", name, does); !strings.Contains(doc, row) {
			t.Errorf("docs/reference/simulator.md lacks the row %s", row)
		}
		if line := fmt.Sprintf("\n  %-15s %s\n", name, does); !strings.Contains(page, line) {
			t.Errorf("pa-record sim --help lacks the line %s", line)
		}
	}
	for _, f := range plan.Faults() {
		listed(f.String(), f.Does())
	}
	for _, m := range sim.DefaultTritonModels() {
		listed(m.Name, m.Interface.Takes())
	}
}

// parse resolves a command line as the program does.
func parse(t *testing.T, key string, args ...string) (*settings, error) {
	t.Helper()
	s := &settings{}
	var err error
	app := recordApp(nil, environment{}, nil)
	app.Flags = s.flags()
	app.Action = func(c *cli.Context) error {
		err = s.read(c, func(name string) string { return map[string]string{"OPENAI_API_KEY": key}[name] }, true)
		return nil
	}
	var stderr strings.Builder
	if code := app.Run(t.Context(), append([]string{"pa-record"}, args...), strings.NewReader(""), io.Discard, &stderr); code != 0 {
		return nil, errors.New(stderr.String())
	}
	return s, err
}

// inProcess runs pa-record inside the test.
func inProcess(ctx context.Context, t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return inProcessWith(ctx, t, nil, args...)
}

// inProcessWith is inProcess in an environment.
func inProcessWith(ctx context.Context, t testing.TB, variables map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := newEnvironment(func(name string) string { return variables[name] }, make(chan os.Signal))
	code = run(ctx, append([]string{"pa-record"}, args...), env, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}
