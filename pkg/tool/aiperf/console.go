package aiperf

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/py"
)

// Console writes profile_export_console.txt for a console of width columns; AIPerf writes
// it for 140.
func (r *report) Console(w io.Writer, width int) error {
	var b strings.Builder
	b.WriteString("\n\n")
	if r.cancelled {
		b.WriteString("NVIDIA AIPerf | INCOMPLETE RESULTS\n" + r.release.incomplete + "\nThese metrics were computed over a subset of the run and must not be compared against complete runs.\n\n\n")
	}
	if len(r.Errors) > 0 {
		b.WriteString(r.errorTable(width) + "\n\n")
	}
	tables := []struct {
		title  string
		groups []group
	}{
		{": Effective", []group{effectiveGroup}},
		{": Active", []group{activeGroup}},
		{": Usage", []group{usageGroup}},
		{"", []group{mainGroup}},
	}
	if r.cancelled { // only the last two tables; the main one includes the other groups
		tables = tables[2:]
		tables[1].groups = []group{mainGroup, effectiveGroup, activeGroup}
	}
	for _, t := range tables {
		b.WriteString(r.table("NVIDIA AIPerf | LLM Metrics"+t.title, t.groups, width))
	}
	if r.hint {
		b.WriteString("\n" + strings.Join(py.Wrap(r.release.cacheHint, width), "\n") + "\n")
	}
	b.WriteString(r.notices(width))
	_, err := io.WriteString(w, b.String())
	return err
}

// table returns the table of the first group. With several groups, the effective and
// active metrics and the credit-to-start latency follow it. It returns "" for no rows.
func (r *report) table(title string, groups []group, width int) string {
	t := py.RichTable{Title: title, Columns: []py.RichColumn{{Header: "Metric"}}}
	for _, s := range r.release.consoleStats {
		t.Columns = append(t.Columns, py.RichColumn{Header: s})
	}
	for pass := range min(2, len(groups)) {
		for i := range r.Metrics {
			m := &r.Metrics[i]
			c := r.release.column(m.Tag)
			in := c.group == groups[0]
			if pass == 1 {
				in = c.group == effectiveGroup || c.group == activeGroup || c.tag == "credit_to_start_latency"
			}
			if !in {
				continue
			}
			row := []string{c.label(r.release.maxHeader)}
			for _, s := range r.release.consoleStats {
				row = append(row, cell(m.Stat(s)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return ""
	}
	return t.Render(width)
}

// label returns the name of a row. A name longer than maxHeader has its unit on a line of
// its own.
func (c *column) label(maxHeader int) string {
	if len(c.header) > maxHeader {
		return c.header + "\n(" + c.unit + ")"
	}
	return c.header + " (" + c.unit + ")"
}

func cell(v float64) string {
	if math.IsNaN(v) {
		return "N/A"
	}
	return py.Grouped(v, 2)
}

// errorTable returns the table of failures.
func (r *report) errorTable(width int) string {
	t := py.RichTable{Title: "NVIDIA AIPerf | Error Summary", Columns: []py.RichColumn{{Header: "Code"}, {Header: "Type"}, {Header: "Message", Left: true}, {Header: "Count"}}}
	for _, e := range r.Errors {
		code := "N/A"
		if e.Code != 0 {
			code = strconv.Itoa(e.Code)
		}
		t.Rows = append(t.Rows, []string{code, e.Type, e.Message, fmt.Sprint(e.Count)})
	}
	return t.Render(width)
}

// notices returns the boxes in which AIPerf warns about token counts.
func (r *report) notices(width int) string {
	ok := 0.0
	if m := r.Metric(requestCount); m != nil {
		ok = m.Avg
	}
	count := func(tag string) (n float64, share string) {
		if m := r.Metric(tag); m != nil && ok > 0 {
			n = m.Avg
		}
		return n, py.Grouped(n, 0) + " of " + py.Grouped(ok, 0) + " requests (" + py.Fixed(n/ok*100, 1) + "%)"
	}
	var b strings.Builder
	if n, share := count("usage_discrepancy_count"); n > 0 {
		b.WriteString("\n" + box("Token Count Discrepancy Warning", []string{
			share + fmt.Sprintf(" show a difference exceeding %d%% between:", r.release.usagePct),
			"  - API-reported usage tokens (from 'usage' field)",
			"  - Client-computed token counts (from tokenization)",
			"",
			"Possible Causes:",
			"  - Different tokenization methods (API vs client)",
			"  - API special tokens or preprocessing",
			"",
			"Investigation Steps:",
			"  1. Review profile_export.jsonl for per-request usage_*_diff_pct values",
			"  2. Verify client tokenizer matches the model's tokenizer",
			"  3. Use server token counts: --use-server-token-count (disables client tokenization and diff metrics)",
			fmt.Sprintf("  4. Adjust threshold: AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD=%d", r.release.usagePct),
		}, width))
	}
	if n, share := count("osl_mismatch_count"); n > 0 {
		b.WriteString("\n" + box("Output Sequence Length Mismatch Warning", []string{
			share + " have output length differing from requested by more than the threshold.",
			fmt.Sprintf("Threshold (tokens): min(requested x %d%%, %d)", r.release.mismatchPct, r.release.mismatchTokens),
			"Average mismatch: " + py.Fixed(r.Metric("osl_mismatch_diff_pct").Avg, 1) + "%",
			"",
			"Why: Server hit EOS token before reaching requested output length.",
			"",
			"Fix Options:",
			"  - --extra-inputs ignore_eos:true - Generate until max_tokens (vLLM, TensorRT-LLM)",
			"  - --extra-inputs min_tokens:<N> - Set minimum output length (vLLM, TensorRT-LLM, SGLang)",
			"  - --use-server-token-count - Use server-reported token counts if tokenizer mismatch suspected",
			"",
			"Diagnostics:",
			"  - Review profile_export.jsonl -> osl_mismatch_diff_pct for per-request values",
			fmt.Sprintf("  - Adjust: AIPERF_METRICS_OSL_MISMATCH_PCT_THRESHOLD=%d", r.release.mismatchPct),
			fmt.Sprintf("  - Adjust: AIPERF_METRICS_OSL_MISMATCH_MAX_TOKEN_THRESHOLD=%d", r.release.mismatchTokens),
		}, width))
	}
	return b.String()
}

// box puts a frame with a title around lines, no wider than a console of so many
// columns: longer lines are broken between words.
func box(title string, lines []string, width int) string {
	const sides = 6 // frame and blanks
	var all []string
	widest := utf8.RuneCountInString(title)
	for _, l := range lines {
		for _, part := range py.Wrap(l, width-sides) {
			part = strings.TrimRight(part, " ")
			all = append(all, part)
			widest = max(widest, utf8.RuneCountInString(part))
		}
	}
	inner := widest + sides - 2
	left := (inner - utf8.RuneCountInString(title) - 2) / 2
	var b strings.Builder
	fmt.Fprintf(&b, "╭%s %s %s╮\n", strings.Repeat("─", left), title, strings.Repeat("─", inner-left-utf8.RuneCountInString(title)-2))
	for _, l := range all {
		fmt.Fprintf(&b, "│  %s%s  │\n", l, strings.Repeat(" ", widest-utf8.RuneCountInString(l)))
	}
	fmt.Fprintf(&b, "╰%s╯\n", strings.Repeat("─", inner))
	return b.String()
}
