// Command testlog makes a readable log of the output of go test -json: a line for each
// package, the whole output of failed tests, and at the end lists of the skipped tests, with
// their reasons, and of the slowest tests.
//
//	go test -json ./... | go run -C tools .
//
// Tests that are skipped because make test-long runs them are only counted.
//
// A skipped test looks like a passed one everywhere else, so that a machine that
// lacks something would pass for one on which all was tested. Whether the tests
// passed shows in the exit status of go test alone.
//
// The module also pins the versions of the tools that the Makefile builds.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := digest(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(1)
	}
}

// An event is a line of go test -json, see go doc test2json.
type event struct {
	Action  string
	Package string
	Test    string // "" for an event of the package
	Output  string
	Elapsed float64 // duration of a test that ended, in seconds
}

// A slowTest is a test that took a second or longer.
type slowTest struct {
	name    string
	seconds float64
}

// digest reads events from r until its end, and writes the log to w. It copies lines that are
// no events: the command that started go test printed them, or a tool that go test started.
func digest(r io.Reader, w io.Writer) error {
	outputs := map[string]string{} // outputs of the tests that have not ended
	var skipped []string
	var slow []slowTest
	long := 0 // tests left to make test-long
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil:
			fmt.Fprintf(w, "%s", line)
		default:
			if e.Test != "" && !strings.Contains(e.Test, "/") && e.Elapsed >= 1 {
				slow = append(slow, slowTest{e.Package + " " + e.Test, e.Elapsed})
			}
			switch why, ok := e.digest(outputs, w); {
			case ok && strings.HasSuffix(why, "left to make test-long"):
				long++
			case ok:
				skipped = append(skipped, why)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for _, test := range slices.Sorted(maps.Keys(outputs)) { // in which the process ended
		fmt.Fprintf(w, "%s did not end:\n%s", test, outputs[test])
	}
	fmt.Fprintln(w, "\nskipped tests:")
	for _, why := range skipped {
		fmt.Fprintf(w, "  %s\n", why)
	}
	if len(skipped) == 0 {
		fmt.Fprintln(w, "  none")
	}
	if long > 0 {
		fmt.Fprintf(w, "left to make test-long: %d\n", long)
	}
	slices.SortStableFunc(slow, func(a, b slowTest) int { return cmp.Compare(b.seconds, a.seconds) })
	if len(slow) > 0 {
		fmt.Fprintln(w, "\nslowest tests, in seconds:")
	}
	for _, t := range slow[:min(10, len(slow))] {
		fmt.Fprintf(w, "%7.1f  %s\n", t.seconds, t.name)
	}
	return nil
}

// digest adds the event to its test's output, or prints it. skipped reports whether the event
// ends a skipped test; why then names the test and the reason.
func (e *event) digest(outputs map[string]string, w io.Writer) (why string, skipped bool) {
	test := e.Package + " " + e.Test
	text := outputs[test]
	switch e.Action {
	case "build-output":
		fmt.Fprint(w, e.Output)
	case "output":
		switch {
		case strings.HasPrefix(e.Output, "=== "), e.Output == "PASS\n":
		case e.Test == "":
			fmt.Fprint(w, e.Output)
		default:
			outputs[test] = text + e.Output
		}
	case "fail":
		fmt.Fprint(w, text)
		delete(outputs, test)
	case "pass", "skip":
		delete(outputs, test)
	}
	return test + ": " + reason(text), e.Action == "skip" && e.Test != ""
}

// reason returns a test's output in one line without the verdict.
func reason(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "--- ") {
			all = append(all, line)
		}
	}
	return strings.Join(all, "; ")
}
