package plan

import (
	"math"
	"strings"
	"testing"
	"time"
)

var delayRows = []struct {
	in        string
	want      Delay
	canonical string
}{
	{"20ms", ConstantDelay(20 * time.Millisecond), "20ms"},
	{"0s", ConstantDelay(0), "0s"}, // edge: a constant 0 is not the zero value
	{"constant:1.5s", ConstantDelay(1500 * time.Millisecond), "1.5s"},
	{"normal:20ms,2ms", Delay{Normal, 20 * time.Millisecond, 2 * time.Millisecond}, "normal:20ms,2ms"},
	{"normal:20ms", Delay{Normal, 20 * time.Millisecond, 0}, "normal:20ms,0s"},
	{"lognormal:20ms,5ms", Delay{Lognormal, 20 * time.Millisecond, 5 * time.Millisecond}, "lognormal:20ms,5ms"},
	{"1h", ConstantDelay(time.Hour), "1h0m0s"}, // edge: the most
}

func TestParseDelay(t *testing.T) {
	for _, row := range delayRows {
		got, err := ParseDelay(row.in)
		if err != nil || got != row.want {
			t.Errorf("ParseDelay(%q) = %+v, %v, want %+v", row.in, got, err, row.want)
		}
		if s := got.String(); s != row.canonical {
			t.Errorf("ParseDelay(%q).String() = %q, want %q", row.in, s, row.canonical)
		}
	}
}

func TestParseDelayErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                    "invalid duration",
		"20":                  "missing unit",
		"uniform:1ms,2ms":     `unknown kind "uniform"`,
		":20ms":               `unknown kind ""`,
		"normal:20ms,":        "invalid duration",
		"normal:20ms,1ms,2":   "unknown unit",
		"normal:20ms,1ms,2ms": "unknown unit",
		"-1ms":                "mean is negative",
		"normal:1ms,-1ms":     "standard deviation is negative",
		"constant:1ms,1ms":    "no standard deviation",
		"lognormal:0s,1ms":    "above 0",
		"2h":                  "more than 1h0m0s",
	} {
		got, err := ParseDelay(in)
		if err == nil || !strings.Contains(err.Error(), want) || got != (Delay{}) {
			t.Errorf("ParseDelay(%q) = %+v, %v, want an error with %q", in, got, err, want)
		}
	}
}

var lengthRows = []struct {
	in        string
	want      Length
	canonical string
}{
	{"64", ConstantLength(64), "64"},
	{"normal:64,8", Length{Normal, 64, 8}, "normal:64,8"},
	{"lognormal:64.5,1e1", Length{Lognormal, 64.5, 10}, "lognormal:64.5,10"},
	{"0", ConstantLength(0), "0"}, // edge: samples are 1 all the same
}

func TestParseLength(t *testing.T) {
	for _, row := range lengthRows {
		got, err := ParseLength(row.in)
		if err != nil || got != row.want {
			t.Errorf("ParseLength(%q) = %+v, %v, want %+v", row.in, got, err, row.want)
		}
		if s := got.String(); s != row.canonical {
			t.Errorf("ParseLength(%q).String() = %q, want %q", row.in, s, row.canonical)
		}
	}
	for _, in := range []string{"", "x", "-1", "NaN", "inf", "0x10", "normal:64,NaN", "normal:64,-1", "1e300", "normal:1e400,1", "64,2"} {
		if got, err := ParseLength(in); err == nil {
			t.Errorf("ParseLength(%q) = %+v, want an error", in, got)
		}
	}
}

func FuzzParseDelay(f *testing.F) {
	for _, row := range delayRows {
		f.Add(row.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDelay(s)
		if err != nil {
			return
		}
		again, err := ParseDelay(d.String())
		if err != nil || again != d {
			t.Fatalf("ParseDelay(%q) = %+v, and of its String %q %+v, %v", s, d, d.String(), again, err)
		}
		for _, u := range []float64{1e-300, 0.1, 0.9, 1 - 1e-16} {
			if x := d.sample(u); x < 0 || x > MaxDelay {
				t.Fatalf("%v at %g is %v", d, u, x)
			}
		}
	})
}

func FuzzParseLength(f *testing.F) {
	for _, row := range lengthRows {
		f.Add(row.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLength(s)
		if err != nil {
			return
		}
		again, err := ParseLength(l.String())
		if err != nil || again != l {
			t.Fatalf("ParseLength(%q) = %+v, and of its String %q %+v, %v", s, l, l.String(), again, err)
		}
		for _, u := range []float64{1e-300, 0.1, 0.9, 1 - 1e-16} {
			if x := l.sample(u); x < 1 || x > MaxContextTokens {
				t.Fatalf("%v at %g is %d", l, u, x)
			}
		}
	})
}

// The sample mean of n draws has the standard error s/√n, the sample standard
// deviation about s/√(2n) for a normal variable and more for a skewed one. The
// bounds are 5 standard errors for the mean and 20 for the standard deviation. The
// draws are seeded, so a row passes always or never.
func TestMoments(t *testing.T) {
	const n = 100000
	rows := []struct {
		d Delay
	}{
		{ConstantDelay(20 * time.Millisecond)},
		{Delay{Normal, 20 * time.Millisecond, 2 * time.Millisecond}},
		{Delay{Lognormal, 20 * time.Millisecond, 5 * time.Millisecond}},
		{Delay{Lognormal, 20 * time.Millisecond, 20 * time.Millisecond}},
	}
	for _, row := range rows {
		var sum, squares float64
		for i := range n {
			x := float64(row.d.sample(uniform(1, 2, drawITL, i)))
			sum += x
			squares += x * x
		}
		mean := sum / n
		sd := math.Sqrt(max(0, squares/n-mean*mean))
		s := float64(row.d.Stddev)
		if math.Abs(mean-float64(row.d.Mean)) > 5*s/math.Sqrt(n) {
			t.Errorf("%v: the mean of %d draws is %.0f ns", row.d, n, mean)
		}
		if math.Abs(sd-s) > 20*s/math.Sqrt(2*n)+1 {
			t.Errorf("%v: the standard deviation of %d draws is %.0f ns", row.d, n, sd)
		}
	}
}

func TestNormalIsCut(t *testing.T) {
	d := Delay{Normal, time.Millisecond, 10 * time.Millisecond}
	if got := d.sample(0.01); got != 0 {
		t.Errorf("the 1st percentile of %v is %v, want 0", d, got)
	}
	if got := (Length{Normal, 2, 10}).sample(0.01); got != 1 {
		t.Errorf("the 1st percentile of a length is %d, want 1", got)
	}
}

// Known quantiles of the standard normal distribution.
func TestQuantile(t *testing.T) {
	for _, row := range []struct{ u, z float64 }{{0.5, 0}, {0.975, 1.959963984540054}, {0.001, -3.090232306167813}} {
		got := quantile(Normal, 10, 2, row.u, -100, 100)
		if want := 10 + 2*row.z; math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile(normal 10 2, %g) = %v, want %v", row.u, got, want)
		}
	}
	// The median of a lognormal variable is exp(μ) = m/√(1 + s²/m²).
	if got, want := quantile(Lognormal, 10, 5, 0.5, 0, 100), 10/math.Sqrt(1.25); math.Abs(got-want) > 1e-12 {
		t.Errorf("median of lognormal 10 5 = %v, want %v", got, want)
	}
}

// TestBits pins the values of bits: any change would change the answers for every seed.
func TestBits(t *testing.T) {
	if a, b := bits(1, 2, drawITL, 3), bits(1, 2, drawITL, 3); a != b {
		t.Errorf("two equal draws are %x and %x", a, b)
	}
	// First outputs of the reference splitmix64 from states 0 and 1234567.
	if got := Mix(0); got != 0xe220a8397b1dcdaf {
		t.Errorf("Mix(0) = %#x", got)
	}
	if got := Mix(1234567); got != 6457827717110365317 {
		t.Errorf("Mix(1234567) = %d", got)
	}
	seen := map[uint64]bool{}
	for seed := range uint64(4) {
		for request := range uint64(50) {
			for what := drawTTFT; what <= drawText; what++ {
				for token := range 50 {
					seen[bits(seed, request, what, token)] = true
				}
			}
		}
	}
	if want := 4 * 50 * 4 * 50; len(seen) != want {
		t.Errorf("%d different draws of %d", len(seen), want)
	}
}
