package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/testenv"
)

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
		master, slave := testenv.Terminal(t, columns)
		shown := make(chan string)
		go func() { // ends with the line that is written below
			var b strings.Builder
			for lines := bufio.NewScanner(master); lines.Scan() && !strings.HasPrefix(lines.Text(), "the end"); {
				b.WriteString(strings.TrimRight(lines.Text(), "\r") + "\n")
			}
			shown <- b.String()
		}()
		if code := run(t.Context(), []string{"pa-analyze", "report", path}, strings.NewReader(""), slave, slave); code != 0 {
			t.Errorf("%d columns: exit code %d", columns, code)
		}
		fmt.Fprintln(slave, "the end")
		text := <-shown
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
