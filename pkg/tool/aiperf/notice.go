package aiperf

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/py"
)

// notices returns the boxes in which AIPerf warns about token counts.
func (r *Report) notices(width int) string {
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
		for _, part := range strings.Split(strings.TrimSuffix(wrapped(l, width-sides), "\n"), "\n") {
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
