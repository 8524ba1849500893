package diff

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/analyze/expr"
)

var gateMetrics = []Metric{
	{Key: "ttft_p99", Unit: Nanoseconds, Primary: true}, {Key: "itl_p99", Unit: Nanoseconds}, {Key: "requests_per_s", Unit: PerSecond, Primary: true}, {Key: "failed_share", Unit: Share},
}

// fixedValues is a comparison of made-up numbers.
type fixedValues struct{}

func (fixedValues) Number(metric string, of operand) (float64, string) {
	if metric == "itl_p99" && of >= ofLow {
		return 0, "too few values"
	}
	v := map[string][6]float64{
		"ttft_p99":       {0, 100e6, 110e6, 0.1, 0.02, math.Inf(1)},
		"itl_p99":        {0, 20e6, 19e6, -0.05},
		"requests_per_s": {0, 50, 40, -0.2, -0.25, -0.15},
		"failed_share":   {0, 0, 0.015, math.NaN(), math.NaN(), math.NaN()},
	}[metric][of]
	return v, ""
}

func (fixedValues) Verdict(metric, word string) (state GateState, because string) {
	switch {
	case metric != "ttft_p99":
		return GateUnknown, metric + " has no verdict: too few runs"
	case word == "better":
		return GateClear, metric + " is worse"
	}
	return GateTripped, metric + " is worse"
}

func (fixedValues) Within(metric string, margin float64) (state GateState, because string) {
	switch {
	case metric == allMetrics:
		return GateUnknown, "some may be outside"
	case margin > 0.1:
		return GateTripped, metric + " is within"
	}
	return GateClear, metric + " is outside"
}

func TestGateEval(t *testing.T) {
	for _, tt := range []struct {
		text    string
		want    GateState
		because string
	}{
		// gateSource, in each unit.
		{"new.ttft_p99>100ms", GateTripped, "new.ttft_p99 is 110ms"},
		{"new.ttft_p99>110ms", GateClear, "new.ttft_p99 is 110ms"},
		{"new.ttft_p99>=110ms", GateTripped, "new.ttft_p99 is 110ms"},
		{"new.ttft_p99 > 0.1s", GateTripped, "new.ttft_p99 is 0.11s"},
		{"new.ttft_p99 > 100 ms && new.failed_share > 1 %", GateTripped, "new.ttft_p99 is 110ms, new.failed_share is 1.5%"},
		{"ttft_p99 > +5 %", GateTripped, "ttft_p99 is +10%"},
		{"New.TTFT_p99 > 5 ms", GateTripped, "new.ttft_p99 is 110ms"},
		{"TTFT_P99.Low>+1%", GateTripped, "ttft_p99.low is +2%"},
		{"new.ttft_p99>110000us", GateClear, "new.ttft_p99 is 110000us"},
		{"new.ttft_p99>109999µs", GateTripped, "new.ttft_p99 is 110000µs"},
		{"old.ttft_p99<100000001ns", GateTripped, "old.ttft_p99 is 100000000ns"},
		{"new.requests_per_s<40.5", GateTripped, "new.requests_per_s is 40"},
		{"new.failed_share>1%", GateTripped, "new.failed_share is 1.5%"},
		// Changes and the ends of their intervals.
		{"ttft_p99>+5%", GateTripped, "ttft_p99 is +10%"},
		{"ttft_p99>5%", GateTripped, "ttft_p99 is +10%"},
		{"ttft_p99>10%", GateClear, "ttft_p99 is +10%"},
		{"requests_per_s<-5%", GateTripped, "requests_per_s is -20%"},
		{"requests_per_s<=-20%", GateTripped, "requests_per_s is -20%"},
		{"ttft_p99.low>+2.5%", GateClear, "ttft_p99.low is +2%"},
		{"requests_per_s.high<-10%", GateTripped, "requests_per_s.high is -15%"},
		{"ttft_p99.high>1000%", GateTripped, "ttft_p99.high is +∞"},
		// Verdicts.
		{"ttft_p99 worse", GateTripped, "ttft_p99 is worse"},
		{"ttft_p99 better", GateClear, "ttft_p99 is worse"},
		{"ttft_p99 different", GateTripped, "ttft_p99 is worse"},
		// Equivalence.
		{"ttft_p99 within 12%", GateTripped, "ttft_p99 is within"},
		{"ttft_p99 within 3 %", GateClear, "ttft_p99 is outside"},
		{"ALL within 3.5%", GateUnknown, "some may be outside"},
		{"!(itl_p99 within 3%) || all within 1%", GateTripped, "itl_p99 is outside"},
		// A missing value is named and leaves the condition undecided, unless the rest decides.
		{"itl_p99.low>0%", GateUnknown, "itl_p99.low is n/a: too few values"},
		{"requests_per_s worse", GateUnknown, "requests_per_s has no verdict: too few runs"},
		{"itl_p99.low>0% || ttft_p99>5%", GateTripped, "ttft_p99 is +10%"},
		{"itl_p99.low>0% && ttft_p99>5%", GateUnknown, "itl_p99.low is n/a: too few values"},
		{"itl_p99.low>0% && ttft_p99<5%", GateClear, "ttft_p99 is +10%"},
		{"itl_p99.low>0% || ttft_p99<5%", GateUnknown, "itl_p99.low is n/a: too few values"},
		{"!ttft_p99 better", GateTripped, "ttft_p99 is worse"},
		{"!(ttft_p99 worse && ttft_p99>5%)", GateClear, "ttft_p99 is worse, ttft_p99 is +10%"},
		{"!itl_p99.low>0%", GateUnknown, "itl_p99.low is n/a: too few values"},
		// && binds tighter.
		{"ttft_p99>5% || ttft_p99>5% && ttft_p99<0%", GateTripped, "ttft_p99 is +10%"},
		{"(ttft_p99>5% || ttft_p99>6%) && ttft_p99<0%", GateClear, "ttft_p99 is +10%"},
		{"ttft_p99>5% && new.ttft_p99>1ms", GateTripped, "ttft_p99 is +10%, new.ttft_p99 is 110ms"},
	} {
		e, err := parseGate(tt.text, gateMetrics, "old", "new")
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		got := e.eval(fixedValues{})
		if because := strings.Join(got.Because, ", "); got.State != tt.want || because != tt.because {
			t.Errorf("%q = %v (%s), want %v (%s)", tt.text, got.State, because, tt.want, tt.because)
		}
	}
}

// A share of 0 on the old side has no change; the state must not be passed.
func TestGateEvalNaN(t *testing.T) {
	e, err := parseGate("failed_share>5%", gateMetrics, "old", "new")
	if err != nil {
		t.Fatal(err)
	}
	if got := e.eval(fixedValues{}); got.State != GateUnknown {
		t.Errorf("state %v, want n/a", got.State)
	}
}

func TestNeedsChange(t *testing.T) {
	for text, want := range map[string]bool{
		"new.ttft_p99>1s": false, "old.ttft_p99>1s && new.failed_share>1%": false,
		"ttft_p99>1%": true, "all within 3%": true, "ttft_p99.low>1%": true, "ttft_p99 worse": true, "new.ttft_p99>1s || ttft_p99 worse": true,
	} {
		e, err := parseGate(text, gateMetrics, "old", "new")
		if err != nil {
			t.Fatal(err)
		}
		if got := e.NeedsChange(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Every message there is.
func TestGateParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "column 1: an expression is missing, such as ttft_p99>+5%"},
		{"  ", "column 3: an expression is missing, such as ttft_p99>+5%"},
		{strings.Repeat("(", 4097), "column 1: the expression is longer than 4096 bytes"},
		{strings.Repeat("(", 101), "column 101: more than 100 levels of parentheses and !"},
		{"5%", `column 1: expected a metric, ( or !, found "5%"`},
		{"ttft_p99>5% &&", "column 15: expected a metric, ( or !, found the end"},
		{"ttft_p99!=5%", `column 9: expected <, <=, > or >=, better, worse, different or within after ttft_p99, found "!="`},
		{"ttft_p99>5% ttft_p99", `column 13: expected &&, || or the end, found "ttft_p99"`},
		{"ttft_p99>5%)", `column 12: expected &&, || or the end, found ")"`},
		{"(ttft_p99>5%", "column 13: expected a ) for the ( in column 1, found the end"},
		{"ttft>5%", `column 1: "ttft": no metric; there are ttft_p99, itl_p99, requests_per_s, failed_share`},
		{"mid.ttft_p99>5%", `column 1: "mid.ttft_p99": a metric goes alone, after old. or new., or before .low or .high`},
		{"new.ttft_p99.low>5%", `column 1: "new.ttft_p99.low": no metric; there are ttft_p99, itl_p99, requests_per_s, failed_share`},
		{"ttft_p99", "column 9: expected <, <=, > or >=, better, worse, different or within after ttft_p99, found the end"},
		{"itl_p99==5%", `column 8: expected <, <=, > or >=, or within after itl_p99, found "=="`},
		{"ttft_p99 bad", `column 10: expected better, worse, different or within after ttft_p99, found "bad"`},
		{"new.ttft_p99 within 3%", "column 14: new.ttft_p99 is a number; within belongs to ttft_p99 alone"},
		{"ttft_p99 within", "column 16: expected a percent such as 3% after ttft_p99 within, found the end"},
		{"ttft_p99 within 3ms", `column 17: "3ms": a margin is a percent above 0 without a sign; write ttft_p99 within 3%`},
		{"ttft_p99 within +3%", `column 17: "+3%": a margin is a percent above 0 without a sign; write ttft_p99 within 3%`},
		{"ttft_p99 within 0%", `column 17: "0%": a margin is a percent above 0 without a sign; write ttft_p99 within 3%`},
		{"all worse", `column 5: expected within 3% after all, found "worse"`},
		{"all>3%", `column 4: expected within 3% after all, found ">"`},
		{"new.all>3%", `column 1: "new.all": no metric; there are ttft_p99, itl_p99, requests_per_s, failed_share`},
		{"new.ttft_p99 worse", "column 14: new.ttft_p99 is a number; worse belongs to ttft_p99 alone"},
		{"itl_p99 worse", "column 9: itl_p99 has no verdict: it is descriptive; write itl_p99>+5% or itl_p99.low>0%"},
		{"ttft_p99>", "column 10: expected a percent such as +5% after ttft_p99>, found the end"},
		{"new.ttft_p99>x", `column 14: expected a duration such as 200ms after new.ttft_p99>, found "x"`},
		{"new.failed_share>(", `column 18: expected a percent such as 1% after new.failed_share>, found "("`},
		{"new.requests_per_s<x", `column 20: expected a number such as 25.5 after new.requests_per_s<, found "x"`},
		{"ttft_p99>1.%", `column 10: "1.%": no number; write a percent such as +5%`},
		{"ttft_p99>--1%", `column 10: "-": no number; write a percent such as +5%`},
		{"new.ttft_p99>5min", `column 14: "5min": unknown unit "min"; there are ns, us, ms, s and %`},
		{"ttft_p99>200ms", `column 10: "200ms": a change is in percent; write ttft_p99>+5%, or new.ttft_p99>200ms for the value`},
		{"ttft_p99.low>5", `column 14: "5": ttft_p99.low is in percent; write a percent such as +5%`},
		{"new.failed_share>0.01", `column 18: "0.01": new.failed_share is in percent; write a percent such as 1%`},
		{"new.ttft_p99>+5ms", `column 14: "+5ms": a value has no sign; write a duration such as 200ms`},
		{"new.ttft_p99>5%", `column 14: "5%": new.ttft_p99 is not a share; write a duration such as 200ms, or ttft_p99>5% for the change`},
		{"new.ttft_p99>5", `column 14: "5": a duration needs a unit: 5ms or 5s`},
		{"new.requests_per_s<5s", `column 20: "5s": requests_per_s is per second and has no unit; write a number such as 25.5`},
		{"ttft_p99>" + strings.Repeat("9", 400) + "%", `column 10: "` + strings.Repeat("9", 40) + `…": the number is too large`},
	} {
		e, err := parseGate(tt.text, gateMetrics, "old", "new")
		var syntax *expr.SyntaxError
		if !errors.As(err, &syntax) || err.Error() != tt.want || e != nil {
			t.Errorf("parseGate(%.60q)\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

// An expression that parses is written as a text with the same meaning. Messages are printable and
// point into the text.
func FuzzParseGate(f *testing.F) {
	for _, s := range []string{
		"ttft_p99>+5%", "new.ttft_p99>=0.2s||itl_p99.low>-1.5% && (ttft_p99 worse || old.failed_share<1%)", "((ttft_p99 different))", "all within 3% && !(itl_p99 within 2.5 %)", "!(ttft_p99 worse)||!!itl_p99>1%",
		"new.requests_per_s<25.5", "ttft_p99>200ms", "µ", "ttft_p99>5μs", "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseGate(text, gateMetrics, "old", "new")
		if err != nil {
			var syntax *expr.SyntaxError
			if !errors.As(err, &syntax) || syntax.Column < 1 || syntax.Column > utf8.RuneCountInString(text)+1 || !utf8.ValidString(err.Error()) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := parseGate(e.String(), gateMetrics, "old", "new")
		if err != nil || again.String() != e.String() {
			t.Fatalf("%q is written as %q, which is %v, %v", text, e, again, err)
		}
		got, want := again.eval(fixedValues{}), e.eval(fixedValues{})
		if got.State != want.State || strings.Join(got.Because, "|") != strings.Join(want.Because, "|") {
			t.Fatalf("%q: %+v, but %q: %+v", text, want, e, got)
		}
	})
}
