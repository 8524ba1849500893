package calibrate

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlan(t *testing.T) {
	for _, row := range []struct {
		name string
		c    Config
		want Plan
	}{
		{"the default", Config{}, Plan{64, 50, 2, 63, 20 * time.Millisecond}},
		{"long", Config{Duration: time.Minute, Streams: 2}, Plan{2, 50, 30, 50, 20 * time.Millisecond}},
		{"one token", Config{Tokens: 1}, Plan{64, 50, 1, 1, 20 * time.Millisecond}},
		{"shorter than a gap", Config{Duration: time.Millisecond}, Plan{64, 50, 1, 1, 20 * time.Millisecond}},
		{"tokens precede the duration", Config{Tokens: 200, Duration: time.Hour / 10}, Plan{64, 50, 2, 50, 20 * time.Millisecond}},
		{"as many streams as there may be", Config{Streams: MaxStreams, TokensPerSecond: 3}, Plan{MaxStreams, 3, 1, 8, 333333333 * time.Nanosecond}},
		{"so many requests that the server forgets none", Config{Streams: 1000, TokensPerSecond: 200, Duration: 10 * time.Second}, Plan{1000, 200, 9, 112, 5 * time.Millisecond}},
	} {
		if err := row.c.Validate(); err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if d := cmp.Diff(row.want, row.c.plan()); d != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, d)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, row := range []struct {
		name string
		c    Config
		want []string
	}{
		{"everything wrong", Config{Streams: -1, TokensPerSecond: -1, Duration: -1, Tokens: -1}, []string{"-1 streams", "-1 tokens per second", "-1ns: the duration", "-1 tokens: "}},
		{"too much", Config{Streams: MaxStreams + 1, TokensPerSecond: 1e6, Duration: time.Hour}, []string{"8193 streams", "1e+06 tokens per second", "1h0m0s"}},
		{"no number", Config{TokensPerSecond: math.NaN()}, []string{"NaN tokens"}},
		{"more than fits the memory", Config{Streams: 4096, Tokens: 2000}, []string{"4096 streams with 1000 tokens each: a round of at most 2097152"}},
		{"overflow", Config{Streams: 2, Tokens: math.MaxInt}, []string{"2 streams with"}},
	} {
		err := row.c.Validate()
		for _, want := range row.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", row.name, err, want)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	all := Limits()
	for _, s := range all {
		if !strings.HasSuffix(s, ".") {
			t.Errorf("no sentence: %q", s)
		}
	}
	all[0] = ""
	if Limits()[0] == "" {
		t.Error("the limits can be changed")
	}
}
