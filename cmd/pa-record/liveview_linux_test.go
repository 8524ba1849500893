package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// A screen is what a terminal shows after the bytes that were written to it. It knows the
// control sequences of the progress display and no others.
type screen struct {
	lines    [][]rune
	row, col int

	progress *regexp.Regexp // matches lines of the progress display
	widest   int            // of these lines, in columns
}

// write adds text; it returns the first control sequence that it does not know, "" if there
// is none.
func (s *screen) write(text string) (unknown string) {
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		rest := text[size:]
		for len(s.lines) <= s.row {
			s.lines = append(s.lines, nil)
		}
		line := &s.lines[s.row]
		switch r {
		case '\r':
			s.col = 0
		case '\n':
			s.row++
		case '\x1b':
			sequence := regexp.MustCompile(`^\[[0-9;]*[A-Za-z]`).FindString(rest)
			switch sequence {
			case "[K":
				*line = (*line)[:min(s.col, len(*line))]
			case "[A":
				s.row = max(0, s.row-1)
			case "[31m", "[33m", "[0m":
			default:
				return "\x1b" + sequence
			}
			rest = rest[len(sequence):]
		default:
			for len(*line) <= s.col {
				*line = append(*line, ' ')
			}
			(*line)[s.col] = r
			s.col++
			if s.progress.MatchString(string(*line)) {
				s.widest = max(s.widest, len(*line))
			}
		}
		text = rest
	}
	return ""
}

func (s *screen) String() string {
	var b strings.Builder
	for _, line := range s.lines {
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return b.String()
}

// shows reports whether the output of a terminal matches all patterns and has three screens of the
// progress display.
func shows(output []byte, patterns []string) bool {
	text := strings.ReplaceAll(string(output), "\r\n", "\n") // the terminal makes \r\n of \n
	missing := slices.ContainsFunc(patterns, func(p string) bool { return !regexp.MustCompile(p).MatchString(text) })
	return !missing && strings.Count(text, "\r\x1b[K") >= 3
}

// recordOnTerminal records on a terminal of that many columns and returns what the terminal got.
// It ends the recording with SIGTERM as soon as the terminal shows the patterns, see shows; for
// nil patterns, after the time of a few screens. env is added to the environment.
func recordOnTerminal(t *testing.T, columns uint16, patterns []string, env ...string) string {
	t.Helper()
	master, slave := testenv.Terminal(t, columns)
	cmd := exec.Command(os.Args[0], "-u", "sim://?ttft=20ms&itl=40ms&output_tokens=4&fault=http_500:every=10", "--streaming", "--concurrency-range", "4",
		"--duration", "1h", "--profile-export-file", filepath.Join(t.TempDir(), "x.json"))
	cmd.Env = append(append(os.Environ(), childEnv+"=1", "LC_ALL=C.UTF-8", "TERM=xterm"), env...)
	cmd.Stdout, cmd.Stderr = slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	shown, enough := make(chan []byte), make(chan struct{})
	go func() { // ends when the terminal is closed
		var all []byte
		piece, closed := make([]byte, 1<<16), false // enough is closed
		for {
			n, err := master.Read(piece)
			all = append(all, piece[:n]...)
			if !closed && shows(all, patterns) {
				closed = true
				close(enough)
			}
			if err != nil {
				shown <- all
				return
			}
		}
	}()
	wait := 20 * time.Second
	if patterns == nil {
		wait = 1300 * time.Millisecond // five screens, or none
	}
	select {
	case <-enough:
	case <-time.After(wait):
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // its error is the exit code
	if !timer.Stop() {
		t.Error("pa-record had not ended 20 s after the signal")
	}
	_, _ = io.WriteString(slave, "the end")
	_ = slave.Close() // the terminal hangs up when all has been read
	return string(<-shown)
}

// A terminal shows how far the run is and the figures of its last seconds. Nothing of that
// stays when the run has ended, whatever was printed in between.
func TestLiveView(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		columns uint16
		env     []string
		want    []string // patterns of what is shown meanwhile
		not     []string // texts that must not be shown
	}{
		{"wide", 120, nil, []string{
			`concurrency 4  \[.*\]  \d+ done  \x1b\[31m\d+ failed\x1b\[0m  4 in flight`,
			`last 5 s:  TTFT p50 [\d.]+ p99 [\d.]+ ms  ITL p50 [\d.]+ p99 [\d.]+ ms  \d+ tok/s  [▁▂▃▄▅▆▇█]+  [\d.]+ req/s`,
		}, nil},
		{"narrow", 40, nil, []string{`concurrency 4  \d+ done`, `\nTTFT p50 [\d.]+ p99 [\d.]+ ms`}, []string{"ITL p50", "█"}},
		{"no color", 120, []string{"NO_COLOR=1"}, []string{`last 5 s:  TTFT`, `\d+ failed  4 in flight`}, []string{"\x1b[31m"}},
		{"no UTF-8", 120, []string{"LC_ALL=C"}, []string{
			`last 5 s:  TTFT p50 [\d.]+ p99 [\d.]+ ms  ITL p50 [\d.]+ p99 [\d.]+ ms  \d+ tok/s  [\d.]+ req/s`,
			`(?s)(\r\x1b\[K.*){10}`, // screens of more than two seconds, which would have a sparkline
		}, []string{"█"}},
		{"a simple terminal", 120, []string{"TERM=dumb"}, nil, []string{"\x1b", "last 5 s", "█"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := recordOnTerminal(t, tt.columns, tt.want, tt.env...)
			out = strings.ReplaceAll(out, "\r\n", "\n") // the terminal's
			for _, want := range tt.want {
				if !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("never shown: %s", want)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(out, not) {
					t.Errorf("%q was shown", not)
				}
			}
			s := screen{progress: regexp.MustCompile(`4 in flight|\d done|p50 \d`)}
			if unknown := s.write(strings.ReplaceAll(out, "\n", "\r\n")); unknown != "" {
				t.Fatalf("control sequence %q", unknown)
			}
			if tt.want != nil && (s.widest == 0 || s.widest >= int(tt.columns)) {
				t.Errorf("the widest line has %d characters in %d columns", s.widest, tt.columns)
			}
			final := s.String()
			for _, gone := range []string{"4 in flight", "last 5 s", "p50 2"} {
				if strings.Contains(final, gone) {
					t.Errorf("%q is left on the terminal:\n%s", gone, final)
				}
			}
			const message = "\npa-record: stopping; waiting for the requests in flight (again to stop at once)\n"
			if !strings.Contains(final, message) || !strings.HasSuffix(final, "\nthe end\n") {
				t.Errorf("the message about the signal is not whole:\n%s", final)
			}
			if t.Failed() {
				t.Logf("%q", out)
			}
		})
	}
}
