package synth

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// The mean length of a normal distribution counts that lengths below 1 are drawn again.
func TestMeanLengthOfNormal(t *testing.T) {
	for _, d := range []Normal{{20, 20}, {5, 5}, {100, 50}, {10, 1}} {
		r := rand.New(rand.NewPCG(3, 4))
		const n = 200_000
		sum := 0
		for range n {
			sum += d.Draw(r)
		}
		if got, want := d.MeanLength(), float64(sum)/n; math.Abs(got-want) > 0.02*want {
			t.Errorf("%v: mean length %v, but the drawn lengths have %v", d, got, want)
		}
	}
}

// TestDistributions checks the mean and the standard deviation of drawn lengths.
func TestDistributions(t *testing.T) {
	h, err := readHistogram("h", strings.NewReader("length,weight\n# short\n10,3\n\n20-29, 1\n100,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dist         LengthDistribution
		mean, stddev float64
		low, high    int
	}{
		{Fixed{7}, 7, 0, 7, 7},
		{Normal{100, 15}, 100, 15, 1, 1 << 20},
		{Normal{550, 0}, 550, 0, 550, 550},
		{Uniform{3, 3}, 3, 0, 3, 3},
		{Uniform{1, 100}, 50.5, math.Sqrt((100*100 - 1) / 12.0), 1, 100},
		{LogNormal{500, 400}, 500, 400, 1, 1 << 24},
		{LogNormal{500, 0}, 500, 0, 500, 500},
		{h, (3*10 + 24.5) / 4, 0, 10, 29},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		const n = 200_000
		var sum, squares float64
		for range n {
			x := tt.dist.Draw(r)
			if x < tt.low || x > tt.high {
				t.Fatalf("%v gave %d", tt.dist, x)
			}
			sum += float64(x)
			squares += float64(x) * float64(x)
		}
		mean := sum / n
		stddev := math.Sqrt(max(0, squares/n-mean*mean))
		if tt.dist == LengthDistribution(h) {
			// 3/4 of the lengths are 10, and 1/4 are 20 to 29.
			tt.stddev = math.Sqrt(0.75*(10-tt.mean)*(10-tt.mean) + 0.25*(99/12.0+(24.5-tt.mean)*(24.5-tt.mean)))
		}
		if math.Abs(mean-tt.mean) > 5*tt.stddev/math.Sqrt(n)+1e-9 {
			t.Errorf("%v: mean %v, want %v", tt.dist, mean, tt.mean)
		}
		if got := tt.dist.MeanLength(); math.Abs(got-tt.mean) > 1e-6*tt.mean {
			t.Errorf("%v: mean length %v, want %v", tt.dist, got, tt.mean)
		}
		// Rounding adds a twelfth to the variance.
		if math.Abs(stddev-tt.stddev) > 0.05*tt.stddev+1e-6 {
			t.Errorf("%v: standard deviation %v, want %v", tt.dist, stddev, tt.stddev)
		}
	}
}

func TestParseLengthDistribution(t *testing.T) {
	hist := filepath.Join(t.TempDir(), "h.csv")
	if err := os.WriteFile(hist, []byte("1,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want string }{
		{"128", "fixed:128"},
		{"fixed:128", "fixed:128"},
		{"normal:1024,128", "normal:1024,128"},
		{"normal:10.5,0", "normal:10.5,0"},
		{"uniform:1,9", "uniform:1,9"},
		{"lognormal:500,600", "lognormal:500,600"},
		{"histogram:" + hist, "histogram:" + hist},
	} {
		dist, err := ParseLengthDistribution(tt.in)
		if err != nil || dist.String() != tt.want {
			t.Errorf("ParseLengthDistribution(%q) = %v, %v; want %s", tt.in, dist, err, tt.want)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"", `"" is not a whole number`},
		{"many", `"many" is not a whole number`},
		{"0", "length 0: must be from 1"},
		{"-5", "length -5: must be from 1"},
		{"fixed:1.5", `"1.5" is not a whole number`},
		{"99999999999", "length 99999999999: must be"},
		{"normal:100", `"100": expected two numbers with a comma between them`},
		{"normal:100,200", "standard deviation 200 is larger than the mean 100: one length in six would be below 0; use lognormal:100,200"},
		{"normal:-5,1", "mean -5: must be from 1"},
		{"normal:5,-1", "standard deviation -1: must not be negative"},
		{"normal:NaN,1", "expected two numbers"},
		{"uniform:9,1", "the upper end 1 is below the lower end 9"},
		{"uniform:0,5", "lower end 0: must be from 1"},
		{"uniform:1.5,5", "both ends must be whole numbers"},
		{"lognormal:0,1", "mean 0: must be from 1"},
		{"lognormal:5,-1", "standard deviation -1"},
		{"histogram:" + hist + "x", "no such file"},
		{"zipf:1", `unknown distribution "zipf"`},
	} {
		if dist, err := ParseLengthDistribution(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseLengthDistribution(%q) = %v, %v; want an error with %q", tt.in, dist, err, tt.want)
		}
	}
}

func TestReadHistogramErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "h: no length has a weight"},
		{"5,0\n", "h: no length has a weight"},
		{"5,1\n6\n", `h: line 2: "6": expected LENGTH,WEIGHT`},
		{"5,1\nsix,1\n", `h: line 2: "six" is not a whole number`},
		{"5,-1\n", `h: line 1: weight "-1": must be`},
		{"5,x\n", `h: line 1: weight "x"`},
		{"0,1\n", "h: line 1: lower end 0: must be from 1"},
		{"9-3,1\n", "h: line 1: the upper end 3 is below the lower end 9"},
		{"a,b\na,b\n", `h: line 2: "a" is not`},
	} {
		if _, err := readHistogram("h", strings.NewReader(tt.in)); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "\n", " "), tt.want) {
			t.Errorf("ReadHistogram(%q): error %v, want %q", tt.in, err, tt.want)
		}
	}
}

// FuzzParseLengthDistribution checks that a parsed distribution draws valid lengths, and that
// its String parses to the same distribution.
func FuzzParseLengthDistribution(f *testing.F) {
	for _, s := range []string{"5", "fixed:5", "normal:5,2", "uniform:1,9", "lognormal:5,2", "normal:1e3,1e2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if strings.HasPrefix(in, "histogram:") {
			return // it names a file
		}
		dist, err := ParseLengthDistribution(in)
		if err != nil {
			return
		}
		if n := dist.Draw(rand.New(rand.NewPCG(1, 1))); n < 1 || n > maxLength {
			t.Fatalf("%q gave %d", in, n)
		}
		again, err := ParseLengthDistribution(dist.String())
		if err != nil || again != dist {
			t.Fatalf("%q: %v, and again %v, %v", in, dist, again, err)
		}
	})
}

func FuzzReadHistogram(f *testing.F) {
	f.Add("length,weight\n5,1\n6-9,0.5\n")
	f.Fuzz(func(t *testing.T, in string) {
		testenv.BoundMemory(t, len(in), 1<<20, 500, func() { _, _ = readHistogram("h", strings.NewReader(in)) })
		h, err := readHistogram("h", strings.NewReader(in))
		if err != nil {
			return
		}
		if n := h.Draw(rand.New(rand.NewPCG(1, 1))); n < 1 || n > maxLength {
			t.Fatalf("%q gave %d", in, n)
		}
	})
}
