package expr

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/answer"
)

// metricsFrom gives the metrics of a request out of a map.
func metricsFrom(m map[string]float64) func(Metric) (float64, bool) {
	return func(x Metric) (float64, bool) {
		v, ok := m[x.Name]
		return v, ok
	}
}

var objectives = []struct {
	name  string
	text  string
	want  string // as String writes it
	parts int    // conditions
}{
	{"one", "ttft<=200ms", "ttft<=200ms", 1},
	{"the issue's", "ttft<=200ms && itl_p99<=50ms && e2el<5s", "ttft<=200ms && itl_p99<=50ms && e2el<5s", 3},
	{"blanks anywhere", "\t ttft  <=\n200ms ", "ttft<=200ms", 1},
	{"blanks before the unit", "ttft<=200 ms && e2el<5\ts && tpot > 20 µs || output_tokens>3 && itl_max < 1.5  ms", "ttft<=200ms && e2el<5s && tpot>20µs || output_tokens>3 && itl_max<1.5ms", 1},
	{"capitals", "TTFT<=5ms && ITL_P99<1s && Output_Tokens>3", "ttft<=5ms && itl_p99<1s && output_tokens>3", 3},
	{"no blanks", "ttft<=200ms&&e2el<5s||!output_tokens>=3", "ttft<=200ms && e2el<5s || !output_tokens>=3", 1},
	{"every unit", "ttft>0&&ttfat>1ns&&ttst>1us&&tpot>1µs&&e2el>1μs&&itl_mean>1ms&&itl_min>1.5s", "ttft>0 && ttfat>1ns && ttst>1us && tpot>1µs && e2el>1μs && itl_mean>1ms && itl_min>1.5s", 7},
	{"every other metric", "itl_max<1s && itl_p50<1s && itl_p99.9<1s && output_tokens>1 && input_tokens>1 && reasoning_tokens>1 && cached_tokens>1 && output_tokens_per_s>=12.5", "itl_max<1s && itl_p50<1s && itl_p99.9<1s && output_tokens>1 && input_tokens>1 && reasoning_tokens>1 && cached_tokens>1 && output_tokens_per_s>=12.5", 8},
	{"parentheses that matter stay", "(ttft<1s || e2el<2s) && !(ttst<1s && tpot<1s)", "(ttft<1s || e2el<2s) && !(ttst<1s && tpot<1s)", 2},
	{"others go", "((ttft<1s)) && (e2el<2s)", "ttft<1s && e2el<2s", 2},
	{"or is weaker than and", "ttft<1s || e2el<2s && tpot<1s", "ttft<1s || e2el<2s && tpot<1s", 1},
	{"twice not", "!!ttft<1s", "!!ttft<1s", 1},
	{"nested and", "(ttft<1s && e2el<2s) && tpot<1s", "(ttft<1s && e2el<2s) && tpot<1s", 2},
}

func TestParseObjective(t *testing.T) {
	for _, tt := range objectives {
		t.Run(tt.name, func(t *testing.T) {
			e, err := ParseObjective(tt.text)
			if err != nil {
				t.Fatalf("ParseObjective(%q): %v", tt.text, err)
			}
			if got := e.String(); got != tt.want {
				t.Errorf("ParseObjective(%q) = %s, want %s", tt.text, got, tt.want)
			}
			if got := len(e.Conditions()); got != tt.parts {
				t.Errorf("%d conditions, want %d", got, tt.parts)
			}
		})
	}
}

// All that can be wrong, and how it is said.
var bad = []struct {
	name   string
	text   string
	column int
	want   string
}{
	{"nothing", "", 1, "an expression is missing, such as ttft<=200ms && itl_p99<=50ms"},
	{"blanks only", "  ", 3, "an expression is missing, such as ttft<=200ms && itl_p99<=50ms"},
	{"unknown metric", "latency<1s", 1, `"latency": no such metric; there are ` + strings.Join(Names(), ", ")},
	{"itl alone", "ttft<1s && itl<50ms", 12, `"itl": itl is the time between two tokens and a request has many; use itl_mean, itl_p99 or itl_max`},
	{"percentile of all requests", "ttft_p99<1s", 1, `"ttft_p99": a request has one ttft, and an objective judges each request; use ttft, and the share of requests that must meet it for the percentile (pa-record --binary-search --slo takes ttft_p99 of a level)`},
	{"percentile 0", "itl_p0<1s", 1, `"itl_p0": percentiles are above 0 and below 100; itl_min and itl_max are the ends`},
	{"percentile 100", "itl_p100<1s", 1, `"itl_p100": percentiles are above 0 and below 100; itl_min and itl_max are the ends`},
	{"the value first", "200ms>=ttft", 1, `expected a metric, ( or !, found "200ms"`},
	{"no operator", "ttft", 5, "expected <, <=, > or >= after ttft, found the end"},
	{"no operator but a value", "ttft 200ms", 6, `expected <, <=, > or >= after ttft, found "200ms"`},
	{"equals", "ttft==200ms", 5, `expected <, <=, > or >= after ttft, found "=="`},
	{"not equal", "ttft != 200ms", 6, `expected <, <=, > or >= after ttft, found "!="`},
	{"no value", "ttft<=", 7, "expected a duration such as 200ms after ttft<=, found the end"},
	{"no count", "output_tokens> &&", 16, `expected a number of tokens such as 100 after output_tokens>, found "&&"`},
	{"no rate", "output_tokens_per_s>ttft", 21, `expected a number of tokens per second such as 25.5 after output_tokens_per_s>, found "ttft"`},
	{"negative", "ttft>-1s", 6, `"-1s": a value has no sign; write a duration such as 200ms`},
	{"a percent", "ttft<5%", 6, `"5%": unknown unit "%"; there are ns, us, ms and s`},
	{"no unit", "ttft<=200", 7, `"200": a duration needs a unit: 200ms or 200s`},
	{"a word behind the unit", "ttft<=2s min", 10, `expected &&, || or the end, found "min"`},
	{"a percent behind a blank", "ttft<5 %", 6, `"5%": unknown unit "%"; there are ns, us, ms and s`},
	{"unknown unit", "ttft<=2min", 7, `"2min": unknown unit "min"; there are ns, us, ms and s`},
	{"a unit too many", "output_tokens>5s", 15, `"5s": output_tokens has no unit; write a number of tokens such as 100`},
	{"a unit for a rate", "output_tokens_per_s>5ms", 21, `"5ms": output_tokens_per_s has no unit; write a number of tokens per second such as 25.5`},
	{"two points", "ttft<1.2.3s", 6, `"1.2.3s": no number; write a duration such as 200ms`},
	{"a point at the end", "ttft<1.s", 6, `"1.s": no number; write a duration such as 200ms`},
	{"exponent", "output_tokens<1e6", 15, `"1e6": unknown unit "e6"; there are ns, us, ms and s`},
	{"too large", "output_tokens<" + strings.Repeat("9", 400), 15, `"9999999999999999999999999999999999999999…": the number is too large`},
	{"one ampersand", "ttft<1s & e2el<1s", 9, `expected &&, || or the end, found "&"`},
	{"words", "ttft<1s and e2el<1s", 9, `expected &&, || or the end, found "and"`},
	{"a comma", "ttft<1s, e2el<1s", 8, `expected &&, || or the end, found ","`},
	{"nothing after and", "ttft<1s &&", 11, "expected a metric, ( or !, found the end"},
	{"nothing after not", "!", 2, "expected a metric, ( or !, found the end"},
	{"not closed", "(ttft<1s", 9, "expected a ) for the ( in column 1, found the end"},
	{"not opened", "ttft<1s)", 8, `expected &&, || or the end, found ")"`},
	{"columns are characters", "ttft<1µs && é", 13, `expected a metric, ( or !, found "é"`},
	{"not UTF-8", "ttft<1s \xff", 9, `expected &&, || or the end, found "\xff"`},
	{"too deep", strings.Repeat("(", 101) + "ttft<1s" + strings.Repeat(")", 101), 101, "more than 100 levels of parentheses and !"},
	{"too many nots", strings.Repeat("!", 101) + "ttft<1s", 101, "more than 100 levels of parentheses and !"},
	{"too long", strings.Repeat(" ", 4097), 1, "the expression is longer than 4096 bytes"},
}

func TestObjectiveErrors(t *testing.T) {
	for _, tt := range bad {
		t.Run(tt.name, func(t *testing.T) {
			e, err := ParseObjective(tt.text)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("ParseObjective(%q) = %v, %v, want a SyntaxError", tt.text, e, err)
			}
			if syntax.Column != tt.column || syntax.Text != tt.want {
				t.Errorf("ParseObjective(%q): column %d: %s\nwant column %d: %s", tt.text, syntax.Column, syntax.Text, tt.column, tt.want)
			}
		})
	}
}

func TestObjectiveEval(t *testing.T) {
	request := metricsFrom(map[string]float64{"ttft": 200e6, "e2el": 5e9, "output_tokens": 100, "output_tokens_per_s": 20})
	for _, tt := range []struct {
		text string
		want Truth
	}{
		{"ttft<=200ms", True},
		{"ttft<200ms", False},
		{"ttft>=0.2s", True},
		{"ttft>200000us", False},
		{"ttft>199999999ns", True},
		{"output_tokens>=100 && output_tokens_per_s>19.5", True},
		{"ttft<=100ms && e2el<=5s", False},
		{"ttft<=100ms || e2el<=5s", True},
		{"!ttft<=100ms", True},
		{"!(ttft<=200ms && e2el<=5s)", False},
		{"ttft<=100ms || e2el<=4s", False},
		// Kleene's logic: what is not known decides nothing.
		{"itl_max<1s", Unknown},
		{"!itl_max<1s", Unknown},
		{"ttft<=200ms && itl_max<1s", Unknown},
		{"ttft<=100ms && itl_max<1s", False},
		{"itl_max<1s && ttft<=100ms", False},
		{"ttft<=200ms || itl_max<1s", True},
		{"itl_max<1s || ttft<=200ms", True},
		{"ttft<=100ms || itl_max<1s", Unknown},
	} {
		e, err := ParseObjective(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Eval(request); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.text, got, tt.want)
		}
	}
}

// A value with a unit is rounded once: 4.35 s is 4350000000 ns, though
// 4.35·10⁹ in floating point is not.
func TestValuesAreExact(t *testing.T) {
	e, err := ParseObjective("e2el<=4.35s && e2el>=4.35s && e2el<=4350ms && e2el>=4350000us")
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Eval(metricsFrom(map[string]float64{"e2el": 4_350_000_000})); got != True {
		t.Errorf("%v, want met", got)
	}
}

func TestMetrics(t *testing.T) {
	e, err := ParseObjective("ttft<1s && (itl_p99.9<1s || !ttft<2s) && output_tokens>1")
	if err != nil {
		t.Fatal(err)
	}
	got := e.Metrics()
	want := []Metric{{Name: "ttft", Kind: Duration, Of: answer.TTFT}, {Name: "itl_p99.9", Kind: Duration, Of: answer.ITL, Percentile: 99.9}, {Name: "output_tokens", Kind: Count, Of: answer.OutputTokens}}
	if len(got) != len(want) {
		t.Fatalf("metrics %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("metric %d: %v, want %v", i, got[i], want[i])
		}
	}
}

func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		text  string
		name  string
		value float64
		ok    bool
	}{
		{"ttft<=200ms", "ttft", 200e6, true},
		{"output_tokens >= 5", "output_tokens", 5, true},
		{"!ttft<=200ms", "", 0, false},
		{"ttft<1s || tpot<1s", "", 0, false},
		{"ttft<1s && ttft<1s", "", 0, false},
	} {
		e, err := ParseObjective(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		m, value, ok := e.Limit()
		if ok != tt.ok || ok && (m.Name != tt.name || value != tt.value) {
			t.Errorf("limit of %s: %s %v %v, want %s %v %v", tt.text, m.Name, value, ok, tt.name, tt.value, tt.ok)
		}
	}
}

// A text that parses is written as a text with the same meaning. The error of any other text names
// the place in it.
func FuzzParseObjective(f *testing.F) {
	for _, tt := range objectives {
		f.Add(tt.text, 1e8, 2.5e9, uint8(7))
	}
	for _, tt := range bad {
		f.Add(tt.text, 1e8, 2.5e9, uint8(7))
	}
	f.Fuzz(func(t *testing.T, text string, ttft, other float64, has uint8) {
		e, err := ParseObjective(text)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || e != nil || syntax.Column < 1 || syntax.Column > len([]rune(text))+1 {
				t.Fatalf("ParseObjective(%q) = %v, %v", text, e, err)
			}
			return
		}
		again, err := ParseObjective(e.String())
		if err != nil || again.String() != e.String() {
			t.Fatalf("%q becomes %q, then %v, %v", text, e, again, err)
		}
		request := func(m Metric) (float64, bool) {
			if m.Name == "ttft" {
				return ttft, has&1 != 0
			}
			return other, has&2 != 0
		}
		got := e.Eval(request)
		if twice := again.Eval(request); got != twice {
			t.Fatalf("%q is %v, read back %v", text, got, twice)
		}
		// De Morgan: a conjunction is missed if a condition is, met if all are.
		want := True
		for _, c := range e.Conditions() {
			switch r := c.Eval(request); {
			case r == False:
				want = False
			case r == Unknown && want == True:
				want = Unknown
			}
		}
		if got != want {
			t.Fatalf("%q is %v, its conditions %v", text, got, want)
		}
		if has&3 == 3 && got == Unknown {
			t.Fatalf("%q is unknown though all is known", text)
		}
	})
}

// An objective of a level has statistics of all requests in place of the metrics of one.
func TestParseLevelObjective(t *testing.T) {
	for _, tt := range []struct {
		text, want string // want is the error if it does not equal the text
		metrics    []Metric
	}{
		{"ttft_p99<=200ms && itl_p99<=30ms", "ttft_p99<=200ms && itl_p99<=30ms", []Metric{{"ttft_p99", Duration, answer.TTFT, 99}, {"itl_p99", Duration, answer.ITL, 99}}},
		{"TPOT_mean<1s || e2el_p99.9<5s", "tpot_mean<1s || e2el_p99.9<5s", []Metric{{"tpot_mean", Duration, answer.TPOT, 0}, {"e2el_p99.9", Duration, answer.E2EL, 99.9}}},
		{"output_tokens_mean>=100 && itl_max<1s && ttst_min>0", "output_tokens_mean>=100 && itl_max<1s && ttst_min>0", []Metric{{"output_tokens_mean", Count, answer.OutputTokens, 0}, {"itl_max", Duration, answer.ITL, 0}, {"ttst_min", Duration, answer.TTST, 0}}},
		{"ttft<=1s", "a level has many requests, each with its ttft; use ttft_p99 or ttft_mean", nil},
		{"itl<=1s", "a level has many requests, each with its itl; use itl_p99 or itl_mean", nil},
		{"ttft_p100<=1s", "percentiles are above 0 and below 100", nil},
		{"ttft_std<=1s", "no such metric of a level", nil},
		{"itl_mean_p99<=1s", "no such metric of a level", nil},
		{"latency_p99<=1s", "no such metric of a level", nil},
		{"output_tokens_per_s_p50>=1", "no such metric of a level", nil},
		{"ttft_p99<=1", "a duration needs a unit", nil},
		{"", "such as ttft_p99<=200ms && itl_p99<=30ms", nil},
	} {
		e, err := ParseLevelObjective(tt.text)
		switch {
		case err != nil:
			if tt.metrics != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
			}
		case e.String() != tt.want || !slices.Equal(e.Metrics(), tt.metrics):
			t.Errorf("%s: %s of %+v, want %s of %+v", tt.text, e, e.Metrics(), tt.want, tt.metrics)
		}
	}
}

// The margin is that of the condition that decides, and has the sign of the result.
func TestMargin(t *testing.T) {
	ms := func(v float64) float64 { return v * 1e6 }
	double, half := math.Log(2), -math.Log(2)
	for _, tt := range []struct {
		name, text string
		values     map[string]float64
		want       float64
		result     Truth
	}{
		{"half of the limit", "ttft<=200ms", map[string]float64{"ttft": ms(100)}, double, True},
		{"twice the limit", "ttft<=200ms", map[string]float64{"ttft": ms(400)}, half, False},
		{"at the limit", "ttft<=200ms", map[string]float64{"ttft": ms(200)}, 0, True},
		{"at a limit that it must stay below", "ttft<200ms", map[string]float64{"ttft": ms(200)}, 0, False},
		{"at least", "output_tokens>=4", map[string]float64{"output_tokens": 8}, double, True},
		{"nothing at all", "output_tokens>=4", map[string]float64{"output_tokens": 0}, math.Inf(-1), False},
		{"a limit of 0", "ttft<=0", map[string]float64{"ttft": 0}, 0, True},
		{"the least of and", "ttft<=200ms && e2el<=1s", map[string]float64{"ttft": ms(100), "e2el": ms(900)}, math.Log(1 / 0.9), True},
		{"the greatest of or", "ttft<=200ms || e2el<=1s", map[string]float64{"ttft": ms(400), "e2el": ms(1100)}, math.Log(1 / 1.1), False},
		{"not", "!ttft<=200ms", map[string]float64{"ttft": ms(400)}, double, True},
		{"a metric that the request lacks", "itl_max<1s || ttft<=200ms", map[string]float64{"ttft": ms(100)}, double, True},
		{"a metric that it lacks, missed", "ttft<=200ms && itl_max<1s", map[string]float64{"ttft": ms(400)}, half, False},
		{"nothing known", "ttft<=200ms && itl_max<1s", nil, 0, Unknown},
	} {
		e, err := ParseObjective(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		m, r := e.Margin(metricsFrom(tt.values)), e.Eval(metricsFrom(tt.values))
		if r != tt.result || m != tt.want && math.Abs(m-tt.want) > 1e-12 {
			t.Errorf("%s: %v, %v, want %v, %v", tt.name, m, r, tt.want, tt.result)
		}
		if s := Signed(m, r == True); r != Unknown && (s >= 0) != (r == True) {
			t.Errorf("%s: signed %v of %v", tt.name, s, r)
		}
	}
}

// A percentile of a level is a share of its values.
func TestShares(t *testing.T) {
	type share struct {
		name   string
		target float64
	}
	for _, tt := range []struct {
		text string
		want []share
	}{
		{"ttft_p99<=200ms", []share{{"ttft_p99", 0.99}}},
		{"ttft_p99<=200ms && itl_p90<30ms", []share{{"ttft_p99", 0.99}, {"itl_p90", 0.9}}},
		{"output_tokens_p25>=10", []share{{"output_tokens_p25", 0.75}}},
		{"ttft_mean<=200ms", nil},
		{"ttft_p99<=200ms && e2el_max<5s", nil},
		{"ttft_p99<=200ms || e2el_p50<5s", nil},
		{"!ttft_p99<=200ms", nil},
	} {
		e, err := ParseLevelObjective(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		var got []share
		for _, s := range e.Shares() {
			got = append(got, share{s.Metric.Name, s.Target})
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.text, got, tt.want)
		}
	}
	e, err := ParseLevelObjective("ttft_p99<200ms")
	if err != nil {
		t.Fatal(err)
	}
	for v, met := range map[float64]bool{199e6: true, 200e6: false, 201e6: false} {
		if m := e.Shares()[0].Margin(v); (m >= 0) != met {
			t.Errorf("margin %v of %v ns below 200 ms", m, v)
		}
	}
}
