//go:build realservers

package realservers

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// Two recordings of 60 requests, of a server whose first tokens take 100 ms with a
// deviation of 15 %, and of one 10 % slower. With DIFF_PAIRS, three times as many pairs
// are recorded; the shares that find the change are logged beside the shares of a U test. Without it other
// programs may share the machine: diff gives no interval where they show, so pairs are recorded until three have
// one, at most 15.
func TestShortRunsTellSlowFirstTokens(t *testing.T) {
	const wanted = 3
	pairs, validates := 5*wanted, false
	if n, err := strconv.Atoi(os.Getenv("DIFF_PAIRS")); err == nil {
		pairs, validates = wanted*n, true
	}
	server := func(ms int, seed string) settingUnderTest {
		return simulatedWith(t, []string{"--concurrency-range", "8", "--request-count", "60"},
			"--ttft", fmt.Sprintf("normal:%dms,%.1fms", ms, 0.15*float64(ms)), "--itl", "normal:5ms,0.5ms", "--output-tokens", "6", "--seed", seed)
	}
	old, slower := server(100, "1"), server(110, "2")
	var mean, p50, holm, u, answered int
	for i := range pairs {
		if !validates && answered == wanted {
			pairs = i
			break
		}
		dir := t.TempDir()
		oldFile, newFile := filepath.Join(dir, "old.json"), filepath.Join(dir, "new.json")
		if i%2 == 0 {
			old(t, oldFile)
			slower(t, newFile)
		} else {
			slower(t, newFile)
			old(t, oldFile)
		}
		means := low(t, "ttft_mean", oldFile, newFile, "--primary", "ttft_mean")
		medians := low(t, "ttft_p50", oldFile, newFile, "--primary", "ttft_p50")
		family := low(t, "ttft_p50", oldFile, newFile)
		answered += count(means != nil && medians != nil)
		mean, p50, holm = mean+count(means != nil && *means > 0), p50+count(medians != nil && *medians > 0), holm+count(family != nil && *family > 0)
		u += count(inference.MannWhitney(ttfts(t, oldFile), ttfts(t, newFile)).P <= 0.05)
	}
	t.Logf("of %d pairs of recordings, %d have intervals; the change is found by the mean in %d, by the p50 in %d, by the p50 after Holm in %d, by the U test in %d",
		pairs, answered, mean, p50, holm, u)
	if validates && 10*answered < 9*pairs || answered < wanted {
		t.Errorf("%d of %d pairs have intervals", answered, pairs)
	}
	if pairs >= 60 && (10*mean < 8*pairs || 10*p50 < 6*pairs) {
		t.Errorf("the mean finds it in %d and the p50 in %d of %d", mean, p50, pairs)
	}
}

// A slowdown is one of the changes that [TestSeveralRunsTellASlowServer] records.
type slowdown struct {
	metric             string
	firstToken, tokens float64 // factors of the new side's times
}

// A slowdownResult counts what the comparisons of one slowdown found.
type slowdownResult struct {
	pairs, verdicts, ranks int
	variance               float64 // sum over all sides of the variance of the runs' logarithms
}

func (r *slowdownResult) add(o slowdownResult) {
	r.pairs, r.verdicts, r.ranks, r.variance = r.pairs+o.pairs, r.verdicts+o.verdicts, r.ranks+o.ranks, r.variance+o.variance
}

// String returns the shares with their 95 % intervals, and the deviation of the runs.
func (r *slowdownResult) String() string {
	share := func(n int) string {
		low, high := wilson(n, r.pairs)
		return fmt.Sprintf("%d of %d (%.0f %%, %.0f to %.0f)", n, r.pairs, 100*float64(n)/float64(r.pairs), 100*low, 100*high)
	}
	return fmt.Sprintf("worse in %s, U test %s; the runs deviate by %.2f %%", share(r.verdicts), share(r.ranks), 100*math.Sqrt(r.variance/float64(2*r.pairs)))
}

// wilson returns Wilson's 95 % interval for the share k of n.
func wilson(k, n int) (low, high float64) {
	const z = 1.959964
	m, p := float64(n), float64(k)/float64(n)
	center, half := (p+z*z/(2*m))/(1+z*z/m), z/(1+z*z/m)*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return center - half, center + half
}

// Sides of five runs. Each run has a server of its own, and the times of the servers deviate by
// 1 % from run to run. The new side has first tokens or a token pace that are 3 or 5 % slower. A
// run has 300 requests, so the values of the runs deviate by little more than their servers; the
// deviation that was seen is logged. DIFF_PAIRS is a third of the number of pairs, DIFF_SEED
// chooses the servers, so that the pairs can be recorded in several parts.
func TestSeveralRunsTellASlowServer(t *testing.T) {
	thirds, err := strconv.Atoi(os.Getenv("DIFF_PAIRS"))
	if err != nil || thirds < 1 {
		t.Skip("runs with make diff-validation: it takes some minutes of a machine with nothing else to do")
	}
	seed, _ := strconv.ParseUint(os.Getenv("DIFF_SEED"), 10, 64) // 0 by default
	random := rand.New(rand.NewPCG(1, seed))
	slowdowns := []slowdown{{"ttft_p50", 1.03, 1}, {"tpot_p50", 1, 1.03}, {"ttft_p50", 1.05, 1}, {"tpot_p50", 1, 1.05}}
	turns := []int{0, 1, 0, 1, 2, 3} // twice as many of the small ones, which are harder to find
	results := make([]slowdownResult, len(slowdowns))
	for i := range 3 * thirds {
		at := turns[i%len(turns)]
		s, r := slowdowns[at], &results[at]
		t.Run(fmt.Sprintf("%s %d", s.metric, i), func(t *testing.T) { // ends its servers
			server := func(firstToken, tokens float64) settingUnderTest {
				return func(t *testing.T, path string) {
					t.Helper()
					first := 30 * firstToken * math.Exp(0.01*random.NormFloat64())
					pace := 10 * tokens * math.Exp(0.01*random.NormFloat64())
					simulatedWith(t, []string{"--concurrency-range", "32", "--request-count", "300"},
						"--ttft", fmt.Sprintf("normal:%.4fms,0.5ms", first), "--itl", fmt.Sprintf("normal:%.4fms,0.3ms", pace),
						"--output-tokens", "6", "--seed", strconv.Itoa(random.IntN(1e9)))(t, path)
				}
			}
			d, _, _ := compare(t, server(1, 1), server(s.firstToken, s.tokens))
			for _, m := range d.Levels[0].Metrics {
				if m.Metric == s.metric {
					r.add(slowdownResult{
						1, count(m.Verdict == "worse"), count(inference.MannWhitney(m.OldRuns, m.NewRuns).P <= 0.05),
						logVariance(m.OldRuns) + logVariance(m.NewRuns),
					})
				}
			}
		})
	}
	var small slowdownResult
	for i, s := range slowdowns {
		r := &results[i]
		if r.pairs == 0 {
			continue
		}
		change := max(s.firstToken, s.tokens)
		t.Logf("%s +%.0f %%: %v", s.metric, 100*(change-1), r)
		if change < 1.04 {
			small.add(*r)
		} else if r.pairs >= 10 && 10*r.verdicts < 9*r.pairs {
			t.Errorf("%s +%.0f %%: worse in %d of %d pairs, want 90 %%", s.metric, 100*(change-1), r.verdicts, r.pairs)
		}
	}
	if small.pairs > 0 {
		t.Logf("+3 %% of both: %v", &small)
	}
	if small.pairs >= 40 && 4*small.verdicts < 3*small.pairs { // 75 %, if 85 % are found on average
		t.Errorf("+3 %%: worse in %d of %d pairs, want 75 %%", small.verdicts, small.pairs)
	}
}

// logVariance returns the sample variance of the logarithms.
func logVariance(values []float64) float64 {
	mean := math.Log(geometricMean(values))
	sum := 0.0
	for _, v := range values {
		sum += (math.Log(v) - mean) * (math.Log(v) - mean)
	}
	return sum / float64(len(values)-1)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// low returns the lower end of the interval that diff shows for a metric; nil if there is
// none.
func low(t *testing.T, metric, oldFile, newFile string, flags ...string) *float64 {
	t.Helper()
	var d struct {
		Levels []struct {
			Metrics []struct {
				Metric string
				Low    *float64
			}
		}
	}
	text := analyze(t, append([]string{"diff", "--format", "json", oldFile, newFile}, flags...)...)
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	for _, m := range d.Levels[0].Metrics {
		if m.Metric == metric {
			return m.Low
		}
	}
	t.Fatalf("no metric %s in\n%s", metric, text)
	return nil
}

// ttfts returns the times to first token of the requests of an export.
func ttfts(t *testing.T, path string) []float64 {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(analyze(t, "requests", "--format", "csv", path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.IndexFunc(rows[0], func(name string) bool { return strings.HasPrefix(name, "ttft") })
	if column < 0 {
		t.Fatalf("no column of TTFT in %v", rows[0])
	}
	var values []float64
	for _, r := range rows[1:] {
		v, err := strconv.ParseFloat(r[column], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	return values
}
