package main

import (
	"path/filepath"
	"slices"

	"github.com/pa-tools/pa/internal/shell"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

// analyzeCommand returns a command of pa-analyze for files of this run, to paste into a
// shell. It adds the tokenizer, which the files do not name.
func (m *repeatedRun) analyzeCommand(words ...string) string {
	command := shell.Command(append([]string{"pa-analyze"}, words...)...)
	if name := m.countsWith(); name != "" {
		command += " " + shell.Command("--tokenizer", shell.File(name))
	}
	return command
}

// countsWith returns the tokenizer that reports of this run must be given to count tokens;
// "" if they need none.
func (m *repeatedRun) countsWith() string {
	name := m.s.Hints["tokenizer"] // of the other tool's report: a hint opens no path
	if m.s.Hints["dialect"] == "" && (m.uncounted || !m.s.OwnSummary()) {
		name = m.s.Tokenizer
	}
	if name == builtin.Name {
		return ""
	}
	return name
}

// reportCommand returns the command that reports an export.
func (m *repeatedRun) reportCommand(export string) string {
	return m.analyzeCommand("report", shell.File(export))
}

// readIt returns the words before the command that reports an export. A run of Triton prints the
// console of perf_analyzer, which has neither TTFT nor ITL.
func (m *repeatedRun) readIt() string {
	if !m.s.OwnSummary() && m.s.Streaming && m.s.Hints["dialect"] == "" {
		return "for TTFT and ITL read it with"
	}
	return "read it with"
}

// furtherReports returns the commands that write another tool's files from the written
// exports. It leaves out the plain report.
func (m *repeatedRun) furtherReports(written []string) []string {
	var all []string
	for _, args := range m.reports {
		if len(args) < 3 || !slices.Contains(written, filepath.Clean(args[1])) && !slices.Contains(written, args[1]) {
			continue
		}
		// The tool replaces its file, too.
		words := append([]string{args[0], shell.File(args[1])}, args[2:]...)
		all = append(all, m.analyzeCommand(append(words, "--overwrite")...))
	}
	return all
}

// comparison returns the command that compares two series of exports, each with a label.
func (m *repeatedRun) comparison(oldLabel, older, newLabel, newer string) string {
	return m.analyzeCommand("diff", oldLabel+"="+older, newLabel+"="+newer)
}
