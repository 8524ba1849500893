package serving

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/py"
)

// blockWidth is the width of the tools' blocks on every console.
const blockWidth = 50

// Console writes the tool's block for each level, in the same width on every console.
// It leaves out the lines that a tool prints before its block (advice, failures).
func (r *report) Console(w io.Writer, _ int) error {
	var b block
	for i := range r.Levels {
		l := &r.Levels[i]
		r.release.rules.block(r, &b, l)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// A block is the text of a level: titles in a row of signs, labels in 40 columns,
// values in 10.
type block struct{ bytes.Buffer }

func (b *block) title(text, sign string) {
	n := max(blockWidth-utf8.RuneCountInString(text), 0)
	b.WriteString(strings.Repeat(sign, n/2) + text + strings.Repeat(sign, n-n/2) + "\n")
}

func (b *block) end() { b.WriteString(strings.Repeat("=", blockWidth) + "\n") }

func (b *block) row(label, value string) { fmt.Fprintf(b, "%-40s %-10s\n", label, value) }

func (b *block) whole(label string, n int64) { b.row(label, strconv.FormatInt(n, 10)) }

func (b *block) number(label string, f float64, decimals int) { b.row(label, py.Fixed(f, decimals)) }

// percentileWord returns a percentile for a label: "99", "75.5".
func percentileWord(p float64) string {
	if p == math.Trunc(p) {
		return strconv.Itoa(int(p))
	}
	return py.Repr(p)
}

// printSections writes a section for each latency.
func (r *report) printSections(b *block, l *levelReport) {
	for _, s := range r.sections(l) {
		b.title(s.title, "-")
		end := s.suffix()
		b.number("Mean "+s.name+end, s.stats.Mean, 2)
		b.number("Median "+s.name+end, s.stats.Median, 2)
		if r.release.rules.deviations {
			b.number("Std Dev "+s.name+end, s.stats.Std, 2)
		}
		if s.spread {
			b.number("Min "+s.name+end, s.stats.Min, 2)
			b.number("Max "+s.name+end, s.stats.Max, 2)
		}
		for i, p := range r.args.percentiles {
			b.number("P"+percentileWord(p)+" "+s.name+end, s.stats.percentiles[i], 2)
		}
	}
}

const blockTitle = " Serving Benchmark Result "

// trtllmBlock writes the block of TensorRT-LLM.
func (r *report) trtllmBlock(b *block, l *levelReport) {
	main := r.release.rules.deviations
	failed := l.Requests - l.Completed
	b.title(blockTitle, "=")
	if main {
		b.whole("Total requests:", int64(l.Requests))
	}
	b.whole("Successful requests:", int64(l.Completed))
	if main {
		b.whole("Failed requests:", int64(failed))
	}
	r.printRates(b, l)
	b.number("Total Token throughput (tok/s):", l.TotalRate, 2)
	b.number("User throughput (tok/s):", l.UserRate, 2)
	if !main {
		b.number("Mean Request AR:", l.AR.Mean, 4)
		b.number("Median Request AR:", l.AR.Median, 4)
	} else if failed > 0 {
		b.WriteString("=======================!FAILED REQUESTS!=======================\n")
		fmt.Fprintf(b, "Total failed requests: %d\n", failed)
		b.WriteString("=====================!CHECK LOG FOR ERRORS!====================\n")
	}
	r.printSections(b, l)
	b.end()
}

// printRates writes the rows that TensorRT-LLM and vLLM share.
func (r *report) printRates(b *block, l *levelReport) {
	b.number("Benchmark duration (s):", l.Duration, 2)
	b.whole("Total input tokens:", l.InputTokens)
	b.whole("Total generated tokens:", l.OutputTokens)
	b.number("Request throughput (req/s):", l.RequestRate, 2)
	if len(r.args.goodput) > 0 {
		b.number("Request goodput (req/s):", l.Goodput, 2)
	}
	b.number("Output token throughput (tok/s):", l.OutputRate, 2)
}

// vllmBlock writes the block of vLLM.
func (r *report) vllmBlock(b *block, l *levelReport) {
	b.title(blockTitle, "=")
	b.whole("Successful requests:", int64(l.Completed))
	b.whole("Failed requests:", int64(l.Requests-l.Completed))
	if l.maxConcurrency != nil {
		b.whole("Maximum request concurrency:", *l.maxConcurrency)
	}
	if !math.IsInf(l.requestRate, 1) {
		b.number("Request rate configured (RPS):", l.requestRate, 2)
	}
	r.printRates(b, l)
	b.number("Peak output token throughput (tok/s):", l.PeakTokens, 2)
	b.number("Peak concurrent requests:", l.PeakRequests, 2)
	b.number("Total token throughput (tok/s):", l.TotalRate, 2)
	r.printSections(b, l)
	b.end()
}

// sglangBlock writes the block of SGLang.
func (r *report) sglangBlock(b *block, l *levelReport) {
	b.WriteString("\n")
	b.title(blockTitle, "=")
	b.row("Backend:", l.backend)
	b.row("Traffic request rate:", py.Repr(l.requestRate))
	if n := l.maxConcurrency; n != nil && *n != 0 {
		b.whole("Max request concurrency:", *n)
	} else {
		b.row("Max request concurrency:", "not set")
	}
	b.whole("Successful requests:", int64(l.Completed))
	b.number("Benchmark duration (s):", l.Duration, 2)
	b.whole("Total input tokens:", l.InputTokens)
	b.whole("Total input text tokens:", l.InputTokens)
	b.whole("Total generated tokens:", l.OutputTokens)
	b.whole("Total generated tokens (retokenized):", l.Retokenized)
	b.number("Request throughput (req/s):", l.RequestRate, 2)
	b.number("Input token throughput (tok/s):", l.InputRate, 2)
	b.number("Output token throughput (tok/s):", l.OutputRate, 2)
	b.number("Peak output token throughput (tok/s):", l.PeakTokens, 2)
	b.number("Peak concurrent requests:", l.PeakRequests, 0)
	b.number("Total token throughput (tok/s):", l.TotalRate, 2)
	b.number("Concurrency:", l.Concurrency, 2)
	if a := r.args.acceptLength; a != nil && *a != 0 {
		b.number("Accept length:", *a, 2)
	}
	r.sglangGoodput(b, l)
	for _, s := range l.sglangSections() {
		b.title(s.title, "-")
		end := s.suffix()
		b.number("Mean "+s.name+end, s.stats.Mean, 2)
		b.number("Median "+s.name+end, s.stats.Median, 2)
		for i, p := range [...]string{"P90 ", "P95 ", "P99 "} {
			b.number(p+s.name+end, s.stats.percentiles[i], 2)
		}
		if s.spread {
			b.number("Max "+s.name+end, s.stats.Max, 2)
		}
	}
	b.end()
}

// sglangGoodput writes the goodput of SGLang.
func (r *report) sglangGoodput(b *block, l *levelReport) {
	limits := r.args.goodput
	if len(limits) == 0 {
		return
	}
	var slos []string
	for _, x := range limits {
		slos = append(slos, x.Metric+":"+py.General(x.Value))
	}
	b.title("Goodput", "-")
	b.row("SLOs (ms):", strings.Join(slos, " "))
	b.number("Request goodput (req/s):", l.Goodput, 2)
	b.number("SLO attainment (%):", l.attainment(l.good)*100, 2)
	for i, x := range limits {
		b.number(strings.ToUpper(x.Metric)+" SLO attainment (%):", l.attainment(l.met[i])*100, 2)
	}
}

// attainment returns the share of n among all requests.
func (l *levelReport) attainment(n int) float64 { return ratio(float64(n), float64(l.Requests)) }
