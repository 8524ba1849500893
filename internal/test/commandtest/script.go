package commandtest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// Program is a command that scripts run.
type Program struct {
	Name string
	// Main is the command's function main, for processes of the command.
	Main func()
	// Run is the command without a process: it returns the exit code. args begins with Name.
	// Standard input is empty. The command has the environment of the test's process.
	Run func(args []string, stdout, stderr io.Writer) int
}

// TestMain is the body of TestMain. It runs the tests, with the program in the search path, or
// the program if this process was started by the program's name. It does not return.
func (p Program) TestMain(m testscript.TestingM) {
	if filepath.Base(os.Args[0]) == p.Name {
		p.Main()
		os.Exit(0)
	}
	os.Exit(p.test(m))
}

// test runs the tests while the search path begins with a folder that holds the program.
func (p Program) test(m testscript.TestingM) (code int) {
	dir, err := os.MkdirTemp("", p.Name)
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = p.install(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot put the program into the search path:", err)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// install makes the running program a file in dir with the program's name. A symbolic link
// would not do: a process that starts itself again looks for its file by the first name.
func (p Program) install(dir string) error {
	from, err := os.Executable()
	if err != nil {
		return err
	}
	to := filepath.Join(dir, p.Name)
	if os.Link(from, to) == nil {
		return nil
	}
	content, err := os.ReadFile(from) // another file system
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o700)
}

// Scripts runs the scripts of params.Dir. It adds three commands to params.Cmds: the
// program's name,
//
//	exits CODE PROGRAM [ARGUMENT...]
//
// which fails unless the program ends with that code, and
//
//	shell FILE
//
// which runs a shell script of one command, a command of the program, as exec sh FILE does. In
// make test the shell only divides the command into words. The condition [long] holds in make
// test-long.
//
// In make test the scripts run one after the other, because a process has only one working
// directory; in make test-long they run in parallel.
func (p Program) Scripts(t *testing.T, params testscript.Params) {
	cmds := map[string]func(*testscript.TestScript, bool, []string){p.Name: p.command, "exits": p.exits, "shell": p.shell}
	maps.Copy(cmds, params.Cmds)
	params.Cmds = cmds
	params.Condition = func(cond string) (bool, error) {
		if cond == "long" {
			return testenv.IsLong(), nil
		}
		return false, fmt.Errorf("unknown condition")
	}
	if testenv.IsLong() {
		testscript.Run(t, params)
		return
	}
	dir, err := filepath.Abs(params.Dir)
	if err != nil {
		t.Fatal(err)
	}
	params.Dir = dir
	if deadline, ok := t.Deadline(); ok {
		params.Deadline = deadline
	}
	setup := params.Setup
	params.Setup = func(e *testscript.Env) error {
		if setup != nil {
			if err := setup(e); err != nil {
				return err
			}
		}
		names, err := variables(e, dir)
		e.Values[variableNames{}] = names
		return err
	}
	testscript.RunT(sequential{t}, params)
}

// variableNames is the key of the script's value that holds the names of its environment
// variables.
type variableNames struct{}

// setVariable finds the variables that a script sets.
var setVariable = regexp.MustCompile(`(?m)^(?:\[[^\]]*\] *)?env (\w+)=`)

// variables returns the names of the environment variables of a script.
func variables(e *testscript.Env, dir string) (names []string, err error) {
	for _, v := range e.Vars {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	script, err := os.ReadFile(filepath.Join(dir, strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")+".txtar"))
	for _, m := range setVariable.FindAllSubmatch(script, -1) {
		names = append(names, string(m[1]))
	}
	return names, err
}

func (p Program) command(ts *testscript.TestScript, neg bool, args []string) {
	switch code := p.call(ts, args); {
	case code != 0 && !neg:
		ts.Fatalf("exit code %d", code)
	case code == 0 && neg:
		ts.Fatalf("unexpected success")
	}
}

func (p Program) exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != p.Name {
		ts.Fatalf("usage: exits CODE %s [ARGUMENT...]", p.Name)
	}
	if code := p.call(ts, args[2:]); strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func (p Program) shell(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: shell FILE")
	}
	if testenv.IsLong() {
		if err := ts.Exec("sh", args[0]); (err != nil) != neg {
			ts.Fatalf("%s: %v", args[0], err)
		}
		return
	}
	script := ts.ReadFile(args[0])
	rest, ok := strings.CutPrefix(strings.TrimSpace(script), p.Name+" ")
	if !ok {
		ts.Fatalf("%s: expected a command of %s, found %q", args[0], p.Name, script)
	}
	words, err := exec.Command("sh", "-c", `printf '%s\0' `+rest).Output()
	ts.Check(err)
	p.command(ts, neg, strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00"))
}

// call runs the program and returns its exit code.
func (p Program) call(ts *testscript.TestScript, args []string) (code int) {
	if testenv.IsLong() {
		return exitCode(ts, ts.Exec(p.Name, args...))
	}
	leave, err := enter(ts)
	if err == nil {
		code = p.Run(append([]string{p.Name}, args...), ts.Stdout(), ts.Stderr())
		err = leave()
	}
	ts.Check(err)
	return code
}

// exitCode returns the exit code of a process that ended with err.
func exitCode(ts *testscript.TestScript, err error) int {
	var exit interface{ ExitCode() int } // an *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// enter gives this process the working directory and the environment of a script, until
// leave is called. A variable that the script has emptied is not set.
func enter(ts *testscript.TestScript) (leave func() error, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	before := os.Environ()
	leave = func() error {
		os.Clearenv()
		err := os.Chdir(dir)
		for _, v := range before {
			name, value, _ := strings.Cut(v, "=")
			err = errors.Join(err, os.Setenv(name, value))
		}
		return err
	}
	os.Clearenv()
	names, _ := ts.Value(variableNames{}).([]string)
	err = os.Setenv("PWD", ts.MkAbs("."))
	for _, name := range names {
		if value := ts.Getenv(name); value != "" {
			err = errors.Join(err, os.Setenv(name, value))
		}
	}
	if err = errors.Join(err, os.Chdir(ts.MkAbs("."))); err != nil {
		return nil, errors.Join(err, leave())
	}
	return leave, nil
}

// sequential is a test whose scripts do not run in parallel.
type sequential struct{ *testing.T }

func (t sequential) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(sequential{t}) })
}

func (sequential) Parallel() {}

func (sequential) Verbose() bool { return testing.Verbose() }
