//go:build realservers

package realservers

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sideRuns is how many runs there are on each side of a comparison.
const sideRuns = 5

// A diffFile is what these tests need of pa-analyze diff --format json.
type diffFile struct {
	Mode       string
	Comparable bool
	Answer     diffAnswer
	Levels     []struct {
		Metrics []diffMetric
	}
}

// A diffAnswer is the first line of the text, and its reason if the data cannot tell.
type diffAnswer struct{ Verdict, Because string }

type diffMetric struct {
	Metric    string
	Primary   bool
	Old, New  float64
	OldRuns   []float64 `json:"old_runs"`
	NewRuns   []float64 `json:"new_runs"`
	Change    float64
	PAdjusted float64 `json:"p_adjusted"`
	Verdict   string
	Spoiled   string
	NA        *struct{ Reason string }
}

// apart reports whether the runs of the sides are so far apart that it is plain to
// see without any statistics, and if so, which way: +1 when the new ones are above.
// Between the sides there must be twice what is between the runs of one, as
// factors; Welch's t is then above 6, whatever the runs.
func (m diffMetric) apart() int {
	spread := max(slices.Max(m.OldRuns)/slices.Min(m.OldRuns), slices.Max(m.NewRuns)/slices.Min(m.NewRuns))
	switch clear := spread * spread; {
	case slices.Min(m.NewRuns) > slices.Max(m.OldRuns)*clear:
		return +1
	case slices.Max(m.NewRuns)*clear < slices.Min(m.OldRuns):
		return -1
	}
	return 0
}

// judge checks a verdict against the runs. Sides that were made to differ, and whose runs lie apart, must have a
// verdict in the right direction, and no verdict may contradict what was done to the server. If other work keeps
// the machine busy, the runs of the sides mix, and "~" is right. moreIsWorse says that a larger value is worse.
func (m diffMetric) judge(t *testing.T, want string, moreIsWorse bool) {
	t.Helper()
	if len(m.OldRuns) != sideRuns || len(m.NewRuns) != sideRuns {
		t.Errorf("%s: runs %v and %v, want %d of each", m.Metric, m.OldRuns, m.NewRuns, sideRuns)
		return
	}
	apart := ""
	switch m.apart() {
	case +1:
		apart = map[bool]string{true: "worse", false: "better"}[moreIsWorse]
	case -1:
		apart = map[bool]string{true: "better", false: "worse"}[moreIsWorse]
	}
	switch {
	case apart == want && m.Verdict != want && m.Spoiled == "":
		t.Errorf("%s: %s, want %s: the sides are apart, %v and %v", m.Metric, m.Verdict, want, m.OldRuns, m.NewRuns)
	case m.Verdict == "n/a" && m.Spoiled != "":
		t.Logf("%s: no verdict: %s", m.Metric, m.Spoiled)
	case m.Verdict != want && m.Verdict != "~":
		t.Errorf("%s: %s, which is against what was done, %v and %v", m.Metric, m.Verdict, m.OldRuns, m.NewRuns)
	case apart != want:
		t.Logf("%s: the machine was too busy for the sides to be apart, %v and %v: %s", m.Metric, m.OldRuns, m.NewRuns, m.Verdict)
	}
}

// judgeAnswer holds the answer of d to the verdicts of its metrics: it is want when one is. It
// is never that there is no difference where the sides are apart, and "cannot tell" has a
// reason. metrics are the ones that were made to differ.
func judgeAnswer(t *testing.T, d diffFile, want string, metrics ...diffMetric) {
	t.Helper()
	told, apart := false, false
	for _, m := range metrics {
		told = told || m.Verdict == want
		apart = apart || m.apart() != 0
	}
	t.Logf("answer: %s %s", d.Answer.Verdict, d.Answer.Because)
	switch v := d.Answer.Verdict; {
	case v == "cannot-tell":
		if d.Answer.Because == "" {
			t.Error("the answer is cannot-tell, without a reason")
		}
		// An outlying run is named before any verdict.
		if told && !strings.Contains(d.Answer.Because, " run ") {
			t.Errorf("the answer is cannot-tell (%s), although a metric is %s", d.Answer.Because, want)
		}
	case v == want || v == "better-and-worse":
	case v == "no-difference" && !told && !apart:
	case (v == "worse" || v == "better") && !told: // of another metric
	default:
		t.Errorf("the answer is %s, want %s, or cannot-tell with a reason", v, want)
	}
}

func (m diffMetric) String() string {
	s := fmt.Sprintf("%-20s %14.0f %14.0f %+7.2f%% p %.4f %s", m.Metric, m.Old, m.New, 100*m.Change, m.PAdjusted, m.Verdict)
	if m.NA != nil {
		s += " (" + m.NA.Reason + ")"
	}
	return s
}

// A settingUnderTest records one run, a short one, into the file path.
type settingUnderTest func(t *testing.T, path string)

// againstLlama records with llama.cpp's server.
func againstLlama(s *server, extra ...string) settingUnderTest {
	return func(t *testing.T, path string) {
		t.Helper()
		recordInto(t, path, append([]string{
			"-m", "tiny", "-u", s.HTTP, "--extra-body", `{"max_tokens": 64, "temperature": 0, "seed": 7, "ignore_eos": true}`,
			"--concurrency-range", "8", "--request-count", "64", "--warmup-request-count", "8",
		}, extra...)...)
	}
}

func recordInto(t *testing.T, path string, args ...string) {
	t.Helper()
	args = append(args, "--service-kind", "openai", "--streaming", "--quiet", "--profile-export-file", path)
	if r := runProgram(t, t.TempDir(), program(t, "pa-record"), args...); r.Code != 0 {
		t.Fatalf("pa-record: %v", r)
	}
}

// simulated starts the simulated server with that time between tokens in a
// process of its own, and records with it.
func simulated(t *testing.T, itl string) settingUnderTest {
	t.Helper()
	return simulatedWith(t, []string{"--concurrency-range", "8", "--request-count", "40"},
		"--ttft", "lognormal:30ms,5ms", "--itl", "normal:"+itl+",1ms", "--output-tokens", "24")
}

// simulatedWith starts the simulated server with the flags server in a process of its
// own, and records with the flags load.
func simulatedWith(t *testing.T, load []string, server ...string) settingUnderTest {
	t.Helper()
	cmd := exec.Command(program(t, "pa-record"), append([]string{"sim", "--openai-addr", "127.0.0.1:0", "--triton-grpc-addr", "off", "--triton-http-addr", "off"}, server...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // says only that it was killed
	})
	line := make([]byte, 256)
	n, err := out.Read(line)
	_, url, ok := strings.Cut(strings.TrimSpace(string(line[:n])), "OpenAI: ")
	if err != nil || !ok {
		t.Fatalf("the simulated server said %q, %v", line[:n], err)
	}
	url, _, _ = strings.Cut(url, "\n")
	return func(t *testing.T, path string) {
		t.Helper()
		recordInto(t, path, append([]string{"-m", "sim", "-u", url}, load...)...)
	}
}

// compare records sideRuns runs of each setting, the sides taking turns, and
// compares them. The last two results are the names of the files of the sides.
func compare(t *testing.T, old, changed settingUnderTest) (d diffFile, oldFiles, newFiles []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range sideRuns {
		o, n := filepath.Join(dir, fmt.Sprintf("old.%d.json", i)), filepath.Join(dir, fmt.Sprintf("new.%d.json", i))
		if i%2 == 0 { // neither is always first
			old(t, o)
			changed(t, n)
		} else {
			changed(t, n)
			old(t, o)
		}
		oldFiles, newFiles = append(oldFiles, o), append(newFiles, n)
	}
	text := analyze(t, "diff", "--format", "json", filepath.Join(dir, "old.*.json"), filepath.Join(dir, "new.*.json"))
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d.Mode != "several-runs" || !d.Comparable || len(d.Levels) != 1 {
		t.Fatalf("mode %s, comparable %v, %d levels:\n%s", d.Mode, d.Comparable, len(d.Levels), text)
	}
	return d, oldFiles, newFiles
}

// primary returns the judged metrics by name.
func primary(t *testing.T, d diffFile) map[string]diffMetric {
	t.Helper()
	byName := map[string]diffMetric{}
	for _, m := range d.Levels[0].Metrics {
		if m.Primary {
			t.Log(m)
			byName[m.Metric] = m
		}
	}
	if len(byName) != 5 {
		t.Errorf("%d primary metrics, want 5", len(byName))
	}
	return byName
}

// A server whose tokens come every 40 ms instead of every 20 is found out, by as
// much as that is.
func TestDiffOfSimulators(t *testing.T) {
	d, _, _ := compare(t, simulated(t, "20ms"), simulated(t, "40ms"))
	m := primary(t, d)
	m["tpot_p50"].judge(t, "worse", true)
	m["e2el_p50"].judge(t, "worse", true)
	m["output_tokens_per_s"].judge(t, "worse", false)
	judgeAnswer(t, d, "worse", m["tpot_p50"], m["e2el_p50"], m["output_tokens_per_s"])
	// The figure of a metric follows from its runs.
	for name, got := range m {
		if name == "failed_share" { // 0 on both sides
			continue
		}
		if want := geometricMean(got.NewRuns)/geometricMean(got.OldRuns) - 1; math.Abs(got.Change-want) > 1e-6 {
			t.Errorf("%s: %+.4f%%, the runs say %+.4f%%", name, 100*got.Change, 100*want)
		}
	}
}

// The comparison of llama.cpp with one thread and with four agrees with the times of the server itself: the last
// event of a stream says how long its tokens took.
func TestDiffOfThreads(t *testing.T) {
	one := startOpenAI(t, "llamacpp", "--threads", "1")
	four := startOpenAI(t, "llamacpp", "--threads", "4")
	d, oldFiles, newFiles := compare(t, againstLlama(one), againstLlama(four))
	m := primary(t, d)
	said := serverITL(t, newFiles) / serverITL(t, oldFiles)
	t.Logf("by the server's own times a token takes %.2f times as long", said)
	if said > 0.9 && said < 1.1 {
		t.Skipf("one thread and four are nearly as fast here")
	}
	want := "worse"
	if said < 1 {
		want = "better"
	}
	m["tpot_p50"].judge(t, want, true)
	m["e2el_p50"].judge(t, want, true)
	m["output_tokens_per_s"].judge(t, want, false)
	judgeAnswer(t, d, want, m["tpot_p50"], m["e2el_p50"], m["output_tokens_per_s"])
}

func geometricMean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(x)))
}

// serverITL returns the geometric mean over all requests of the time per token
// that llama.cpp's server measured.
func serverITL(t *testing.T, files []string) float64 {
	t.Helper()
	sum, n := 0.0, 0
	for _, path := range files {
		for _, r := range readExport(t, path).requests(t, 1) {
			for _, out := range r.ResponseOutputs {
				_, rest, ok := strings.Cut(out.text("response"), `"predicted_per_token_ms":`)
				if !ok {
					continue
				}
				digits, _, _ := strings.Cut(rest, ",")
				ms, err := strconv.ParseFloat(digits, 64)
				if err != nil || ms <= 0 {
					t.Fatalf("%s: time per token %q: %v", path, digits, err)
				}
				sum += math.Log(ms)
				n++
			}
		}
	}
	if n == 0 {
		t.Fatal("no answer holds the server's own times")
	}
	return math.Exp(sum / float64(n))
}

// Sides of runs of the same server seldom differ: in at most one of twenty verdicts. DIFF_PAIRS is
// the number of pairs of sides that are compared with each server; make diff-validation sets it.
func TestDiffOfTheSame(t *testing.T) {
	pairs, err := strconv.Atoi(os.Getenv("DIFF_PAIRS"))
	if err != nil || pairs < 1 {
		t.Skip("runs with make diff-validation: it takes some minutes of a machine with nothing else to do")
	}
	for _, server := range []struct {
		name  string
		start func(t *testing.T) settingUnderTest
	}{
		{"llama.cpp with 1 thread", func(t *testing.T) settingUnderTest {
			return againstLlama(startOpenAI(t, "llamacpp", "--threads", "1"))
		}},
		{"llama.cpp with 2 threads", func(t *testing.T) settingUnderTest {
			return againstLlama(startOpenAI(t, "llamacpp", "--threads", "2"))
		}},
		{"simulated", func(t *testing.T) settingUnderTest { return simulated(t, "5ms") }},
	} {
		t.Run(server.name, func(t *testing.T) {
			setting := server.start(t)
			verdicts := map[string]int{}
			wrong := 0
			for i := range pairs {
				d, _, _ := compare(t, setting, setting)
				for _, m := range d.Levels[0].Metrics {
					if !m.Primary {
						continue
					}
					verdicts[m.Verdict]++
					if m.Verdict != "~" && m.Spoiled == "" {
						wrong++
						t.Logf("pair %d: %v", i, m)
					}
				}
			}
			t.Logf("%d pairs of sides of %d runs, verdicts: %v", pairs, sideRuns, verdicts)
			if n := 5 * pairs; wrong*20 > n {
				t.Errorf("%d of %d verdicts are not ~, want at most 5%%", wrong, n)
			}
		})
	}
}
