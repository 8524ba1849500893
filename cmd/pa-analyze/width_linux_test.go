package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// onTerminal runs pa-analyze on a terminal of that many columns and returns the text.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	master, slave := testenv.Terminal(t, columns)
	shown := make(chan string)
	go func() { // ends with the line that is written below
		var b strings.Builder
		for lines := bufio.NewScanner(master); lines.Scan() && !strings.HasPrefix(lines.Text(), "the end"); {
			b.WriteString(strings.TrimRight(lines.Text(), "\r") + "\n")
		}
		shown <- b.String()
	}()
	if code := run(t.Context(), append([]string{"pa-analyze"}, args...), strings.NewReader(""), slave, slave); code != 0 {
		t.Errorf("%q in %d columns: exit code %d", args, columns, code)
	}
	fmt.Fprintln(slave, "the end")
	return <-shown
}

// On a terminal no line of a report is longer than the terminal, whatever COLUMNS
// says, and all figures are shown.
func TestReportOnTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "132")
	const events = `"response_timestamps":[1030000000,1050000000,1061500000],"response_outputs":[{"text_output":" Hello"},{"text_output":"!"},{"text_output":"."}]`
	path := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(path, []byte(`{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1000000000,`+events+`}],"window_boundaries":[]},`+
		`{"experiment":{"mode":"concurrency","value":2},"requests":[{"timestamp":1000000000,`+events+`}],"window_boundaries":[]}],"version":"2.60.0","service_kind":"triton","endpoint":""}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, columns := range []uint16{60, 80} {
		text := onTerminal(t, columns, "report", path)
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > int(columns) && !strings.Contains(line, path) {
				t.Errorf("%d columns: a line has %d: %s", columns, n, line)
			}
		}
		for _, want := range []string{"  TTFT ", "p99", "max", "30.00", "11.50", "61.50", "requests"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q in\n%s", columns, want, text)
			}
		}
	}
}

// Only a terminal that shows their characters gets sparklines.
func TestSparklines(t *testing.T) {
	var requests []string
	for i := range 5 { // a request a second; each takes 1 ms per second that has passed, and the third fails
		start := 1_000_000_000 * (i + 1)
		output := `[{"text_output":"x"},{"text_output":"x"}]`
		if i == 2 {
			output = `[{"text_output":""},{"text_output":""}]`
		}
		requests = append(requests, fmt.Sprintf(`{"timestamp":%d,"response_timestamps":[%d,%d],"response_outputs":%s}`, start, start+1_000_000*(i+1), start+2_000_000*(i+1), output))
	}
	path := filepath.Join(t.TempDir(), "run.json")
	text := `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` + strings.Join(requests, ",") + `],"window_boundaries":[]}],"version":"2.60.0","service_kind":"triton","endpoint":""}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"report", "--windows", "1s", path}
	blocks := func(text string) bool { return strings.ContainsAny(text, "▁▂▃▄▅▆▇█") }
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("TERM", "xterm")
	const want = "  TTFT p50  ms     ▂▄ █  1.000  4.500\n" // no first token in the third window, two requests in the last
	if got := onTerminal(t, 80, args...); !strings.Contains(got, want) {
		t.Errorf("no line %q in\n%s", want, got)
	}
	if got := onTerminal(t, 80, "report", path); blocks(got) {
		t.Errorf("without windows:\n%s", got)
	}
	if got := onTerminal(t, 80, "report", "--format", "markdown", "--windows", "1s", path); blocks(got) {
		t.Errorf("Markdown:\n%s", got)
	}
	if got := onTerminal(t, 24, args...); blocks(got) {
		t.Errorf("in 24 columns:\n%s", got)
	}
	file := filepath.Join(t.TempDir(), "report.txt")
	onTerminal(t, 80, append(args, "-o", file)...)
	written, err := os.ReadFile(file)
	if err != nil || blocks(string(written)) {
		t.Errorf("in a file: %v\n%s", err, written)
	}
	t.Setenv("COLUMNS", "80")
	if res := exec(t, "", args...); res.code != 0 || blocks(res.stdout) {
		t.Errorf("in a pipe: %+v", res)
	}
	t.Setenv("LC_ALL", "C")
	if got := onTerminal(t, 80, args...); blocks(got) {
		t.Errorf("without UTF-8:\n%s", got)
	}
}

// The percentiles have histograms on a terminal, and nowhere else.
func TestHistograms(t *testing.T) {
	var requests []string
	for i := range 120 { // a third of the first tokens comes after 5 ms, the others after 10 ms
		start, first := 1_000_000_000*(i+1), 10_000_000
		if i%3 == 0 {
			first = 5_000_000
		}
		requests = append(requests, fmt.Sprintf(`{"timestamp":%d,"response_timestamps":[%d,%d],"response_outputs":[{"text_output":"x"},{"text_output":"x"}]}`, start, start+first, start+first+2_000_000))
	}
	path := filepath.Join(t.TempDir(), "run.json")
	text := `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` + strings.Join(requests, ",") + `],"window_boundaries":[]}],"version":"2.60.0","service_kind":"triton","endpoint":""}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	blocks := func(text string) bool { return strings.ContainsAny(text, "▁▂▃▄▅▆▇█") }
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("TERM", "xterm")
	args := []string{"report", "--percentiles", path}
	const want = "  TTFT  ms  ▄▁▁▁▁▁▁▁▁▁▁█  5.00  10.00  linear\n" // all ITL are 2 ms
	if got := onTerminal(t, 45, args...); !strings.Contains(got, want) || strings.Count(got, "linear") != 1 {
		t.Errorf("no line %q in\n%s", want, got)
	}
	if got := onTerminal(t, 80, "report", path); blocks(got) {
		t.Errorf("without --percentiles:\n%s", got)
	}
	if res := exec(t, "", args...); res.code != 0 || blocks(res.stdout) {
		t.Errorf("in a pipe: %+v", res)
	}
	t.Setenv("LC_ALL", "C")
	if got := onTerminal(t, 80, args...); blocks(got) {
		t.Errorf("without UTF-8:\n%s", got)
	}
}
