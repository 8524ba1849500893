package genaiperf

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// The tables of GenAI-Perf's README of 24.03 and of its tutorial, of 24.04: for
// each there are requests of which the release's rules make that table, to the
// character. None of the eight contradicts itself; the requests even come one
// after the other, as with the --concurrency 1 that the documents show. The
// documents have lost the blanks behind the title.
func TestDocumentedTables(t *testing.T) {
	for _, c := range []struct {
		release, server string
		requests        int // with 100·k+1 percentiles are values
	}{
		{"24.03", "trtllm", 101},
		// At most 1 % of its answers have more than 16 tokens, none more than 19, one
		// has 8 and the mean is 15.992 or more: that takes more than 201 of them.
		{"24.03", "vllm", 301},
		{"24.03", "chat", 101},
		{"24.03", "completions", 101},
		{"24.04", "trtllm", 101},
		{"24.04", "vllm", 101},
		{"24.04", "chat", 101},
		{"24.04", "completions", 101},
	} {
		t.Run(c.release+" "+c.server, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("testdata/documents/" + c.release + "-" + c.server + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			release, server := c.release, c.server
			r := find(release)
			file := readTable(t, string(text)).export(t, release, server, c.requests)
			rep, err := reportOf(r, runtest.Open(t, []byte(file)), dialect.Config{Tokenizer: words{}})
			if err != nil {
				t.Fatal(err)
			}
			if rep.crash != nil {
				t.Errorf("crash: %s", rep.crash)
			}
			var b bytes.Buffer
			if err := rep.Console(&b, 130); err != nil {
				t.Fatal(err)
			}
			title, rest, _ := strings.Cut(b.String(), "\n")
			if d := cmp.Diff(string(text), strings.TrimRight(title, " ")+"\n"+rest); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// words is a tokenizer that counts words and exclamation marks, and puts nothing
// around them.
type words struct{}

func (words) Count(text string) int            { return len(strings.Fields(strings.ReplaceAll(text, "!", " ! "))) }
func (words) AddSpecial(ids []uint32) []uint32 { return ids }

// A table is what a document says: rows of statistics, and rates.
type table struct {
	rows  map[string]row
	rates map[string]string
}

// A row is a line of a table.
type row struct{ avg, min, max, p99, p90, p75 int }

func readTable(t *testing.T, text string) table {
	t.Helper()
	tag := func(label string) string {
		label, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(label)), " (")
		return strings.ReplaceAll(label, " ", "_")
	}
	doc := table{rows: map[string]row{}, rates: map[string]string{}}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			doc.rates[tag(name)] = value
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "│"), "│")
		if len(cells) != 1+len(consoleStats) {
			continue
		}
		var r row
		for i, to := range []*int{&r.avg, &r.min, &r.max, &r.p99, &r.p90, &r.p75} {
			var err error
			if *to, err = strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(cells[i+1]), ",", "")); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
		doc.rows[tag(cells[0])] = r
	}
	if _, ok := doc.rows[requestLatency]; !ok || len(doc.rates) != 2 {
		t.Fatalf("no table: %+v", doc)
	}
	return doc
}

// values returns n sorted numbers with the statistics of the row and that sum. So
// that percentiles are exact, both of their neighbours have their value; the
// others are raised from the least that they can be, all by the same part of what
// there is room for.
func (r row) values(t *testing.T, n, sum int) []int {
	t.Helper()
	low, high := make([]int, n), make([]int, n)
	ends := []struct{ from, to, value int }{{0, 0, r.min}}
	for _, p := range [...]struct{ pct, value int }{{75, r.p75}, {90, r.p90}, {99, r.p99}} {
		ends = append(ends, struct{ from, to, value int }{(n - 1) * p.pct / 100, ((n-1)*p.pct + 99) / 100, p.value})
	}
	ends = append(ends, struct{ from, to, value int }{n - 1, n - 1, r.max})
	for i := range ends[1:] {
		a, b := ends[i], ends[i+1]
		for k := a.from; k <= b.to; k++ {
			switch {
			case k <= a.to:
				low[k], high[k] = a.value, a.value
			case k >= b.from:
				low[k], high[k] = b.value, b.value
			default:
				low[k], high[k] = a.value, b.value
			}
		}
	}
	need, room := sum, 0
	for k := range low {
		need -= low[k]
		room += high[k] - low[k]
	}
	if need < 0 || need > room {
		t.Fatalf("%+v: no %d values with the sum %d", r, n, sum)
	}
	all := slices.Clone(low)
	left := need
	for k := range all {
		by := int(float64(high[k]-low[k]) * (float64(need) / float64(max(room, 1))))
		all[k] += by
		left -= by
	}
	for k := 0; left > 0; k = (k + 1) % n {
		if all[k] < high[k] {
			all[k]++
			left--
		}
	}
	slices.Sort(all)
	return all
}

// export returns a file of which the release makes the table.
func (doc table) export(t *testing.T, release, server string, n int) string {
	t.Helper()
	latency := doc.rows[requestLatency].values(t, n, n*doc.rows[requestLatency].avg)
	tokens, durationNS := doc.tokens(t, n, n*doc.rows[requestLatency].avg)
	// Of each request the times from one response to the next, and the tokens of
	// each response.
	gaps, counts := make([][]int, n), make([][]int, n)
	first := latency
	if r, streamed := doc.rows[firstToken]; streamed {
		first = r.values(t, n, n*r.avg)
		gaps, counts = doc.gaps(t, latency, first)
	}
	pause := (durationNS - sum(latency)) / (n - 1)
	var all []request
	at := 1_711_000_000_000_000_000
	for i := range n {
		q := request{at: at, input: words{}.of(doc.rows[numInput].avg)}
		q.times = []int{at + first[i]}
		for _, g := range gaps[i] {
			q.times = append(q.times, q.times[len(q.times)-1]+g)
		}
		for _, c := range spreadTokens(tokens[i], counts[i]) {
			q.outputs = append(q.outputs, " "+words{}.of(c))
		}
		at += latency[i] + pause
		if i == n-2 {
			at += durationNS - sum(latency) - pause*(n-1)
		}
		all = append(all, q)
	}
	return wrap(release, server, doc.rows[numInput].avg == 1, all)
}

func (words) of(n int) string { return strings.TrimSuffix(strings.Repeat("a ", n), " ") }

func sum(x []int) int {
	total := 0
	for _, v := range x {
		total += v
	}
	return total
}

// tokens returns the tokens of n requests, and how long these take in all: no less
// than that.
func (doc table) tokens(t *testing.T, n, leastNS int) (tokens []int, durationNS int) {
	t.Helper()
	r := doc.rows[numOutput]
	rate, err := strconv.ParseFloat(doc.rates[tokenRate], 64)
	if err != nil {
		t.Fatal(err)
	}
	for total := (r.avg - 1) * n; total <= (r.avg+1)*n; total++ {
		ns := int(math.Round(float64(total) / rate * 1e9))
		seconds := float64(ns) / 1e9
		if ns >= leastNS && fmt.Sprintf("%.2f", float64(n)/seconds) == doc.rates[requestRate] && fmt.Sprintf("%.0f", float64(total)/float64(n)) == strconv.Itoa(r.avg) {
			return r.values(t, n, total), ns
		}
	}
	t.Fatal("no number of tokens has these rates and this mean")
	return nil, 0
}

// gaps returns of each request the times between its responses, which come to its
// latency less the first one, and the tokens of the responses behind them: 1, but
// for one that makes the mean come out.
func (doc table) gaps(t *testing.T, latency, first []int) (gaps, counts [][]int) {
	t.Helper()
	r := doc.rows[interToken]
	n := len(latency)
	left := make([]int, n)
	for i := range left {
		left[i] = latency[i] - first[i]
	}
	total := sum(left)
	// One response has 1+more tokens, so that the time before it counts once out
	// of 1+more times: total = Σ of the values + more · one.
	number, more, one := total/r.avg, 1, 0
	for {
		if one = (total - number*r.avg) / more; one >= r.min && one <= r.p75 {
			break
		}
		if more++; more > 4 {
			number, more = number-1, 1
		}
	}
	// As many as a request has time for, of the mean; the rest to the requests with the
	// most left.
	cells := make([]int, n)
	for i := range cells {
		cells[i] = left[i] * number / total
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return left[b]*number%total - left[a]*number%total })
	for k := 0; sum(cells) < number; k++ {
		cells[order[k]]++
	}
	gaps, counts = make([][]int, n), make([][]int, n)
	put := func(i, gap, tokens int) {
		gaps[i], counts[i] = append(gaps[i], gap), append(counts[i], tokens)
		left[i] -= gap
		cells[i]--
	}
	put(n-1, one*(1+more), 1+more)
	// Each value from the 75th percentile on goes to the request whose remaining mean is
	// highest. The request whose mean is lowest takes the least value. The other values share
	// the remaining time of their request evenly.
	values := r.values(t, number, total-more*one)
	slices.Reverse(values)
	above := number - (number-1)*75/100
	mean := func(i int) float64 { return float64(left[i]) / float64(max(cells[i], 1)) }
	for _, v := range values[:above] {
		best := 0
		for i := range left {
			if cells[i] > 1 && mean(i) > mean(best) {
				best = i
			}
		}
		put(best, v, 1)
	}
	least := 0
	for i := range left {
		if cells[i] > 1 && mean(i) < mean(least) {
			least = i
		}
	}
	put(least, r.min, 1)
	for i := range left {
		for cells[i] > 0 {
			g := left[i] / cells[i]
			if g < r.min || g > r.p75 {
				t.Fatalf("request %d: a gap of %d, want %d to %d", i, g, r.min, r.p75)
			}
			put(i, g, 1)
		}
	}
	return gaps, counts
}

// spreadTokens returns the tokens of all responses of a request: the given
// numbers for all but the first response, which gets the rest of the total. An excess
// is taken from the last responses.
func spreadTokens(total int, behind []int) []int {
	all := append([]int{0}, behind...)
	all[0] = total - sum(behind)
	for k := len(all) - 2; all[0] < 0; k-- {
		if all[k] == 1 {
			all[k] = 0
			all[0]++
		}
	}
	return all
}

// wrap makes a file of requests whose outputs are texts. plain says that only the
// first character of a prompt is counted, so that it does not matter how long that
// is.
func wrap(release, server string, plain bool, all []request) string {
	const concurrency1 = `{"mode":"concurrency","value":1}`
	kind, endpoint, output := "triton", "", "text_output"
	for i := range all {
		q := &all[i]
		switch server {
		case "chat":
			q.input = chatPayload(quote(q.input))
		case "completions":
			if plain {
				q.input = words{}.of(199)
			}
			q.input = payload(`{"prompt":` + quote(q.input) + `}`)
		}
		for k, text := range q.outputs {
			switch {
			case server == "chat":
				q.outputs[k] = content(text)
			case server == "completions":
				q.outputs[k] = `{"object":"text_completion","choices":[{"text":` + quote(text) + `}]}`
			case release == "24.03": // the length of the text is in front of it
				q.outputs[k] = "\x01\x00\x00\x00" + text
			}
		}
	}
	switch server {
	case "chat":
		kind, endpoint, output = "openai", "v1/chat/completions", "response"
	case "completions":
		kind, endpoint, output = "openai", "v1/completions", "response"
	}
	return vector(kind, endpoint, concurrency1, output, all...)
}
