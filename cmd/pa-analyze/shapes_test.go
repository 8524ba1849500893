package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A shape makes the runs of one side: a closed loop of 4 whose requests all take the same path.
type shape struct {
	runs     int
	requests int                          // of a run; 0 means 60
	levels   []int                        // 0 means 4
	run      func(run, level int) float64 // the factor of a run at a level; nil means 1
	request  func(i int) float64          // the factor of a request; nil means 1
	spread   float64                      // deviation of ln(TTFT) from request to request; 0 means 0.03
	phi      float64                      // dependence between neighbouring requests
	exact    bool                         // no spread at all
	failing  func(run, level, i int) bool
	ttft     float64 // ms; 0 means 100
	after    bool    // recorded after the other side, not in turn
}

// write writes the runs as files of perf_analyzer, and returns their names. Side 1 records after side 0 in each turn.
func (s shape) write(t *testing.T, dir string, side int) []string {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(side)+1, 7))
	var files []string
	for run := range s.runs {
		turn := uint64(2*run + side)
		if s.after {
			turn = uint64(100*side + run)
		}
		var experiments []string
		now := 1_700_000_000_000_000_000 + turn*3_600_000_000_000
		for _, level := range s.orLevels() {
			var requests []string
			slots := [4]uint64{now, now, now, now}
			state := random.NormFloat64()
			noise := func(deviation float64) float64 {
				if s.exact {
					return 1
				}
				return math.Exp(deviation * random.NormFloat64())
			}
			for i := range s.orRequests() {
				state = s.phi*state + math.Sqrt(1-s.phi*s.phi)*random.NormFloat64()
				ttft := orDefault(s.ttft, 100) * s.of(run, level, i)
				if !s.exact {
					ttft *= math.Exp(orDefault(s.spread, 0.03) * state)
				}
				slot := slices.Index(slots[:], slices.Min(slots[:]))
				start := slots[slot]
				at := start + uint64(1e6*ttft)
				if s.failing != nil && s.failing(run, level, i) {
					requests = append(requests, fmt.Sprintf(`{"timestamp":%d,"response_timestamps":[]}`, start))
					slots[slot] = at
					continue
				}
				times := []string{fmt.Sprint(at)}
				for range 3 {
					at += uint64(1e6 * 20 * noise(0.02))
					times = append(times, fmt.Sprint(at))
				}
				requests = append(requests, fmt.Sprintf(`{"timestamp":%d,"response_timestamps":[%s]}`, start, strings.Join(times, ",")))
				slots[slot] = at
			}
			now = slices.Max(slots[:])
			experiments = append(experiments, fmt.Sprintf(`{"experiment":{"mode":"concurrency","value":%d},"requests":[%s]}`, level, strings.Join(requests, ",")))
		}
		name := filepath.Join(dir, fmt.Sprintf("%s-%d.json", [...]string{"old", "new"}[side], run+1))
		if err := os.WriteFile(name, []byte(`{"experiments":[`+strings.Join(experiments, ",")+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	return files
}

func (s shape) orLevels() []int {
	if s.levels == nil {
		return []int{4}
	}
	return s.levels
}

func (s shape) orRequests() int { return int(orDefault(float64(s.requests), 60)) }

func orDefault(v, other float64) float64 {
	if v == 0 {
		return other
	}
	return v
}

// of returns the factor of a request.
func (s shape) of(run, level, i int) float64 {
	f := 1.0
	if s.run != nil {
		f *= s.run(run, level)
	}
	if s.request != nil {
		f *= s.request(i)
	}
	return f
}

func TestShapes(t *testing.T) {
	t.Parallel()
	// noisy returns runs that differ by chance, and are slower by a factor.
	noisy := func(seed uint64, deviation, slower float64) func(int, int) float64 {
		return func(run, level int) float64 {
			random := rand.New(rand.NewPCG(seed+uint64(run), uint64(level)))
			return slower * math.Exp(deviation*random.NormFloat64())
		}
	}
	// cold makes the first run slower.
	cold := func(f float64, rest func(int, int) float64) func(int, int) float64 {
		return func(run, level int) float64 {
			if run == 0 {
				return f * rest(run, level)
			}
			return rest(run, level)
		}
	}
	slowStart := func(i int) float64 {
		if i < 3 {
			return 10
		}
		return 1
	}
	firstSlow := func(i int) float64 {
		if i == 0 {
			return 30
		}
		return 1
	}
	kinds := func(slow ...int) func(int, int) float64 {
		return func(run, level int) float64 {
			f := noisy(91, 0.01, 1)(run, level)
			if slices.Contains(slow, run) {
				return 3 * f
			}
			return f
		}
	}
	half := func(_, _, i int) bool { return i%2 == 0 }
	levels, eight := []int{1, 2, 4, 8}, []int{1, 2, 4, 8, 16, 32, 64, 128}
	for _, tt := range []struct {
		name     string
		old, new shape
		line     string
		code     int    // with the gate 'ttft_p50 worse'
		answer   string // of the case "answer" in JUnit: passed, skipped or failure
	}{
		{"1 dependent requests", shape{runs: 1, phi: 0.9, spread: 0.3}, shape{runs: 1, phi: 0.9, spread: 0.3, ttft: 300}, "cannot tell: TTFT mean +244 %, E2EL mean +163 % cannot be judged: neighbouring values depend on each other (correlation about 0.92), too much for 60 of them; record about 5,200 requests a side, or use --repeat 5; TPOT p50 unchanged within ±0.58 %", 4, "skipped"},
		{"2 cold requests", shape{runs: 1, request: slowStart}, shape{runs: 1, request: slowStart, ttft: 300}, "cannot tell: TTFT mean +201 %, E2EL mean +142 % cannot be judged: the first 3 requests of both runs took 9.8 and 9.9 times as long as the others; --trim-start leaves them out; TPOT p50 unchanged within ±0.58 %", 4, "skipped"},
		{"2 cold requests of one side", shape{runs: 1}, shape{runs: 1, request: slowStart}, "cannot tell: TTFT mean +45 %, E2EL mean +28 % cannot be judged: the first 3 requests of the new run took 9.9 times as long as the others; --trim-start leaves them out; TPOT p50 unchanged within ±0.58 %", 4, "skipped"},
		{"2 one cold request", shape{runs: 1}, shape{runs: 1, request: firstSlow}, "cannot tell: TTFT mean may have changed by 5 % or more: +51 % (between 310 times faster and 704 times slower); the first request of the new run took 31 times as long as the others; --trim-start leaves it out; TPOT p50 unchanged within ±0.58 %, E2EL mean +32 % unclear (between 54 times faster and 94 times slower)", 4, "skipped"},
		{"3 drift within the run", shape{runs: 1, requests: 600, request: func(i int) float64 { return 1 + float64(i)/600 }}, shape{runs: 1, requests: 600, ttft: 130, request: func(i int) float64 { return 1 + float64(i)/600 }}, "cannot tell: TTFT mean +30 %, E2EL mean +22 %, output tokens/s -18 % cannot be judged: TTFT drifts within both runs (+98 % and +97 % from the first request to the last); find out why, or use --repeat 5; TPOT p50 unchanged within ±0.23 %", 4, "skipped"},
		{"4 constants: single", shape{runs: 1, exact: true}, shape{runs: 1, exact: true, ttft: 150}, "these two runs differ: TTFT mean +50 % (all values of a side equal), E2EL mean +31 % (all values of a side equal); TPOT p50 equal in all requests", 3, "passed"},
		{"5 one cold run", shape{runs: 5, run: cold(80, noisy(1, 0.01, 1))}, shape{runs: 5, run: noisy(11, 0.01, 1)}, "cannot tell: old run 1 took 81 times as long (TTFT p50 8111 ms, the others 98.12 ms to 100.9 ms); without it: no difference within 2.1 %: TTFT p50 +0.38 %, TPOT p50 +0.17 %, E2EL p50 +0.40 %, output tokens/s -0.42 %", 4, "skipped"},
		{"6 both cold: slower", shape{runs: 5, run: cold(3, noisy(1, 0.01, 1))}, shape{runs: 5, run: cold(3, noisy(11, 0.01, 1.2))}, "cannot tell: old run 1 took 3.1 times as long (TTFT p50 304.2 ms, the others 98.12 ms to 100.9 ms), new run 1 took 3.1 times as long (TTFT p50 367.8 ms, the others 118.1 ms to 120.1 ms); without them: new is slower: TTFT p50 +20 % (+17 to +23), E2EL p50 +13 % (+11 to +15), output tokens/s -11 % (-13 to -9.2)", 4, "skipped"},
		{"7 noisy runs", shape{runs: 5, run: noisy(1, 1, 1)}, shape{runs: 5, run: noisy(31, 1, 1)}, "cannot tell: the runs of new differ by a factor of 12 (TTFT p50 29.92 ms to 366.8 ms); TTFT p50 may have changed by 5 % or more: -15 % (between 8.2 times faster and 5.9 times slower); about 735 runs a side would be needed: find out why the runs differ; TPOT p50 unchanged within ±0.35 %, E2EL p50 -10 % unclear (between 3.5 times faster and 2.8 times slower), output tokens/s +11 % unclear (between 2.8 times slower and 3.5 times faster)", 4, "skipped"},
		{"8 two kinds of runs", shape{runs: 5, run: noisy(1, 0.01, 1)}, shape{runs: 5, run: kinds(1, 3)}, "cannot tell: the runs of new are of two kinds (TTFT p50 about 100.0 ms in 3 runs and 302.3 ms in 2); TTFT p50 may have changed by 5 % or more: +56 % (between 40 % faster and 4.0 times slower); about 17 runs a side would be enough, but first find out why the runs differ; TPOT p50 unchanged within ±0.35 %, E2EL p50 +39 % unclear (between 31 % faster and 2.8 times slower), output tokens/s -28 % unclear (between 2.8 times slower and 45 % faster)", 4, "skipped"},
		{"8 two kinds of ten runs", shape{runs: 10, run: noisy(1, 0.01, 1)}, shape{runs: 10, run: kinds(1, 3, 4, 8)}, "cannot tell: the runs of new are of two kinds (TTFT p50 about 100.5 ms in 6 runs and 300.1 ms in 4); TTFT p50 may have changed by 5 % or more: +55 % (between 4 % faster and 2.5 times slower); about 15 runs a side would be enough, but first find out why the runs differ; TPOT p50 unchanged within ±0.22 %, E2EL p50 +38 % unclear (-2.9 to +97), output tokens/s -28 % unclear (-49 to +3.1)", 4, "skipped"},
		{"9 few requests", shape{runs: 1, spread: 0.15}, shape{runs: 1, spread: 0.15, ttft: 105}, "cannot tell: TTFT mean may have changed by 5 % or more: +5.8 % (-1.9 to +14); about 82 requests a side would be enough, or use --repeat 5; TPOT p50 unchanged within ±0.58 %, E2EL mean +3.7 % unclear (-1.2 to +8.9)", 4, "skipped"},
		{"10 sweep: noisy", shape{runs: 5, levels: levels, run: noisy(1, 0.5, 1)}, shape{runs: 5, levels: levels, run: noisy(31, 0.5, 1.3)}, "cannot tell at all 4 levels: the runs of new differ by a factor of 2.1 (TTFT p50 77.72 ms to 160.6 ms); TTFT p50 may have changed by 5 % or more: -1.8 % (-42 to +65); about 1,147 runs a side would be needed: find out why the runs differ; TPOT p50 unchanged within ±0.15 %, E2EL p50 -1.3 % unclear (-30 to +39), output tokens/s +1.2 % unclear (-28 to +43)", 4, "skipped"},
		{"10 sweep: cold", shape{runs: 5, levels: levels, run: cold(80, noisy(1, 0.01, 1))}, shape{runs: 5, levels: levels, run: noisy(31, 0.01, 1.2)}, "cannot tell at all 4 levels: old run 1 took 80 times as long (TTFT p50 8059 ms, the others 99.49 ms to 100.9 ms); without it: new is slower: TTFT p50 +19 % (+17 to +21), E2EL p50 +12 % (+11 to +13), output tokens/s -11 % (-12 to -10)", 4, "skipped"},
		{"10 sweep: cold at the first level", shape{runs: 5, levels: levels, run: noisy(1, 0.01, 1)}, shape{runs: 5, levels: levels, run: func(run, level int) float64 {
			f := noisy(31, 0.01, 1)(run, level)
			if run == 0 && level == 1 {
				f *= 3
			}
			return f
		}}, "cannot tell over all 4 levels: new run 1 took 3.0 times as long at concurrency 1 (TTFT p50 300.4 ms, the others 98.74 ms to 101.1 ms); without it: no difference within 1.4 %: TTFT p50 -0.56 %, TPOT p50 -0.011 %, E2EL p50 -0.31 %, output tokens/s +0.19 %", 4, "skipped"},
		{"5 one cold run of three", shape{runs: 3, run: cold(80, noisy(1, 0.01, 1))}, shape{runs: 3, run: noisy(11, 0.01, 1)}, "cannot tell: the runs of old differ by a factor of 81 (TTFT p50 100.5 ms to 8111 ms); TTFT p50 may have changed by 5 % or more: -77 % (between more than 1,000 times faster and 80 times slower); record 5 runs a side, so that one that is unlike the others can be seen; TPOT p50 unchanged within ±0.23 %, E2EL p50 -73 % unclear (between 693 times faster and 51 times slower)", 4, "skipped"},
		{"11 sweep: slower everywhere", shape{runs: 5, levels: eight, run: noisy(101, 0.03, 1)}, shape{runs: 5, levels: eight, run: noisy(231, 0.03, 1.05)}, "new is slower over all 8 levels: TTFT p50 +6.3 % (+3.0 to +9.7), E2EL p50 +4.0 % (+1.9 to +6.1), output tokens/s -4.0 % (-5.8 to -2.1); clearest at concurrency 2, but no level was shown to differ from the others; TPOT p50 unchanged within ±0.14 %", 3, "failure"},
		{"11 sweep: one level differs", shape{runs: 5, levels: eight, run: noisy(101, 0.01, 1)}, shape{runs: 5, levels: eight, run: func(run, level int) float64 {
			f := noisy(231, 0.01, 1.05)(run, level)
			if level == 64 {
				f *= 1.2
			}
			return f
		}}, "new is slower on average over all 8 levels: TTFT p50 +7.8 % (+6.5 to +9.0), E2EL p50 +4.9 % (+4.2 to +5.7), output tokens/s -4.8 % (-5.5 to -4.2); more at concurrency 64: TTFT p50 +26 %, E2EL p50 +16 %, output tokens/s -14 %; at the other levels together: TTFT p50 +5.4 % (+4.7 to +6.2), E2EL p50 +3.4 % (+3.0 to +3.9), output tokens/s -3.4 % (-3.8 to -3.0); TPOT p50 unchanged within ±0.14 %", 3, "failure"},
		{"11 sweep: slower at one level only", shape{runs: 5, levels: eight, run: noisy(101, 0.03, 1)}, shape{runs: 5, levels: eight, run: func(run, level int) float64 {
			f := noisy(231, 0.03, 0.98)(run, level)
			if level == 64 {
				f *= 1.25
			}
			return f
		}}, "new is slower at concurrency 64: TTFT p50 +22 % (+10 to +36), E2EL p50 +14 % (+6.8 to +22), output tokens/s -12 % (-18 to -6.8); over all 8 levels no difference within 3.9 %", 3, "failure"},
		{"12 half fails", shape{runs: 3, run: noisy(1, 0.01, 1)}, shape{runs: 3, run: noisy(31, 0.01, 0.5), failing: half}, "new fails more: failed 50 % instead of 0 %; of the requests that succeeded: TTFT p50 -51 % (-52 to -49), E2EL p50 -32 % (-33 to -30); TPOT p50 unchanged within ±0.19 %", 3, "failure"},
		{"12 half fails at one level", shape{runs: 3, levels: levels, run: noisy(1, 0.01, 1)}, shape{runs: 3, levels: levels, run: noisy(31, 0.01, 1), failing: func(_, level, i int) bool { return level == 8 && i%2 == 0 }}, "new fails more at concurrency 8: failed 50 % instead of 0 %; of the requests that succeeded over all 4 levels: TTFT p50 unchanged within ±1.6 %, TPOT p50 unchanged within ±0.31 %, E2EL p50 unchanged within ±0.98 %", 3, "failure"},
		{"12 all fail at one level", shape{runs: 3, levels: levels, run: noisy(1, 0.01, 1)}, shape{runs: 3, levels: levels, run: noisy(31, 0.01, 1), failing: func(_, level, _ int) bool { return level == 8 }}, "new fails more at concurrency 8: failed 100 % instead of 0 %; over all 4 levels: TTFT p50, TPOT p50, E2EL p50 not judged: no request succeeded in 3 of 3 new runs at concurrency 8", 3, "failure"},
		{"12 a third fails: single", shape{runs: 1}, shape{runs: 1, failing: func(_, _, i int) bool { return i%3 == 0 }}, "new fails more: failed 33.3 % instead of 0 %; of the requests that succeeded: TTFT mean unchanged within ±1.4 %, TPOT p50 unchanged within ±0.93 %, E2EL mean unchanged within ±0.84 %", 3, "failure"},
		{"13 constants that are equal", shape{runs: 5, exact: true}, shape{runs: 5, exact: true}, "no difference: TTFT p50, TPOT p50, E2EL p50, output tokens/s equal in all runs", 0, "passed"},
		{"13 constants that differ", shape{runs: 5, exact: true}, shape{runs: 5, exact: true, ttft: 150}, "new is slower: TTFT p50 +50 % (all values of a side equal), E2EL p50 +31 % (all values of a side equal), output tokens/s -24 % (all values of a side equal); TPOT p50 equal in all runs", 3, "failure"},
		{"15 a level is missing", shape{runs: 5, levels: levels, run: noisy(1, 0.01, 1)}, shape{runs: 5, levels: levels[:3], run: noisy(31, 0.01, 1)}, "new lacks concurrency 8; no difference within 1.5 % over the 3 levels in common: TTFT p50 -0.72 %, TPOT p50 +0.082 %, E2EL p50 -0.38 %, output tokens/s +0.25 %", 4, "skipped"},
		{"no difference", shape{runs: 5, run: noisy(1, 0.01, 1)}, shape{runs: 5, run: noisy(31, 0.01, 1)}, "no difference within 1.8 %: TTFT p50 -0.31 %, TPOT p50 +0.14 %, E2EL p50 -0.039 %, output tokens/s -0.016 %", 0, "passed"},
		{"slower", shape{runs: 5, run: noisy(1, 0.01, 1)}, shape{runs: 5, run: noisy(31, 0.01, 1.1)}, "new is slower: TTFT p50 +9.7 % (+7.1 to +12), E2EL p50 +6.2 % (+4.7 to +7.7), output tokens/s -5.9 % (-7.4 to -4.4); TPOT p50 unchanged within ±0.35 %", 3, "failure"},
		{"slower by little", shape{runs: 5, run: noisy(1, 0.002, 1)}, shape{runs: 5, run: noisy(31, 0.002, 1.02)}, "new is slower by less than 5 %: TTFT p50 +1.8 % (+0.78 to +2.9), E2EL p50 +1.3 % (+0.64 to +1.9), output tokens/s -1.3 % (-2.1 to -0.54); TPOT p50 unchanged within ±0.35 %", 3, "failure"},
		{
			"drift: one side after the other",
			shape{runs: 5, after: true, run: func(run, _ int) float64 { return math.Pow(1.01, float64(run)) * noisy(1, 0.001, 1)(run, 0) }},
			shape{runs: 5, after: true, run: func(run, _ int) float64 { return math.Pow(1.01, float64(run+5)) * noisy(31, 0.001, 1)(run, 0) }},
			"cannot tell: TTFT p50 +4.9 %, E2EL p50 +3.3 %, output tokens/s -3.2 % cannot be judged: the sides did not take turns, and the runs of both drift (TTFT p50 by +0.88 % from one to the next); record them in turn (--interleave); TPOT p50 unchanged within ±0.35 %", 4, "skipped",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir() // its name must not contain a comma
			args := []string{"diff", "old=" + strings.Join(tt.old.write(t, dir, 0), ","), "new=" + strings.Join(tt.new.write(t, dir, 1), ","), "--fail-on", "ttft_p50 worse"}
			if tt.old.runs == 1 {
				args = append(args, "--single-run")
			}
			r := exec(t, "", args...)
			line, _, _ := strings.Cut(r.stdout, "\n")
			if line != tt.line || r.code != tt.code {
				t.Errorf("exit code %d, want %d\n got %s\nwant %s\n%s", r.code, tt.code, line, tt.line, r.stderr)
			}
			for _, m := range regexp.MustCompile(`(?m)^  (\S.*) \*`).FindAllStringSubmatch(r.stdout, -1) {
				if m[1] != "failed" && tt.old.levels == nil && !strings.Contains(line, m[1]) && !strings.Contains(line, "; without") {
					t.Errorf("%s is judged, but does not stand in the answer", m[1])
				}
			}
			suite := exec(t, "", append(args[:3:3], "--format", "junit")...).stdout
			_, suite, _ = strings.Cut(suite, `name="answer">`)
			suite, _, _ = strings.Cut(suite, "</testcase>")
			got := "passed"
			for _, s := range []string{"skipped", "failure", "error"} {
				if strings.Contains(suite, "<"+s) {
					got = s
				}
			}
			if got != tt.answer {
				t.Errorf("the answer in JUnit is %s, want %s: %s", got, tt.answer, suite)
			}
		})
	}
}
