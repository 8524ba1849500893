package stat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

func TestQuantile(t *testing.T) {
	for _, tt := range []struct {
		name string
		x    []float64
		p    float64
		want float64
	}{
		{"one value", []float64{3}, 0.99, 3},
		{"the lowest", []float64{1, 2, 4}, 0, 1},
		{"the highest", []float64{1, 2, 4}, 1, 4},
		{"a value", []float64{1, 2, 4}, 0.5, 2},
		{"between two", []float64{1, 2, 4}, 0.75, 3},
		{"beside infinity", []float64{1, 2, math.Inf(1)}, 0.5, 2},
		{"before the first", []float64{1, 2}, -1, 1},
		{"behind the last", []float64{1, 2}, 2, 2},
	} {
		if got := Quantile(tt.x, tt.p); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	far := []int64{math.MinInt64, math.MaxInt64}
	if got := Quantile(far, 0.5); got != 0 {
		t.Errorf("between the ends of int64: %v, want 0", got)
	}
}

// rounded does one operation exactly and rounds it to float64, as each operation of
// At and Squares must be.
func rounded(op func(z, x, y *big.Float) *big.Float, x, y float64) float64 {
	exact := new(big.Float).SetPrec(4000)
	f, _ := op(exact, big.NewFloat(x), big.NewFloat(y)).Float64()
	return f
}

var (
	plus  = (*big.Float).Add
	minus = (*big.Float).Sub
	times = (*big.Float).Mul
)

// Each operation is rounded by itself, on every platform: no product and sum are one.
func TestRounding(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	fused := 0 // values that one rounding would have changed
	rounds := 2000 / testenv.Stride(4)
	for range rounds {
		x := make([]float64, 2+random.IntN(40))
		for i := range x {
			x[i] = random.ExpFloat64() * 1e8
		}
		slices.Sort(x)
		p := random.Float64()
		h := rounded(times, p, float64(len(x)-1))
		k := int(h)
		f := rounded(minus, h, float64(k))
		difference := rounded(minus, x[k+1], x[k])
		want := rounded(plus, x[k], rounded(times, f, difference))
		if got := Quantile(x, p); got != want {
			t.Fatalf("quantile %v of %v: %v, want %v", p, x, got, want)
		}
		if math.FMA(f, difference, x[k]) != want {
			fused++
		}
		mean := x[len(x)/2]
		squares, once := 0.0, 0.0
		for _, v := range x {
			d := rounded(minus, v, mean)
			squares = rounded(plus, squares, rounded(times, d, d))
			once = math.FMA(d, d, once)
		}
		if got := Squares(Squares(0, x[:1], mean), x[1:], mean); got != squares {
			t.Fatalf("squares of %v: %v, want %v", x, got, squares)
		}
		if once != squares {
			fused++
		}
	}
	if fused < rounds/20 {
		t.Errorf("%d values differ if they are rounded once: the test shows nothing", fused)
	}
}

// The compiler for arm64, which likes to, makes no instruction of a product and a sum.
func TestNotFused(t *testing.T) {
	testenv.NoRace(t)
	compiler := testenv.Program(t, "go")
	assembly := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), compiler, args...)
		cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %.300s", err, out)
		}
		return out
	}
	fused := regexp.MustCompile(`\bFN?M(ADD|SUB)[DS]\b`)
	listing := assembly("build", "-gcflags=-S", ".")
	for _, name := range []string{`stat\.Quantile\[go\.shape\.int64\]`, `stat\.Quantile\[go\.shape\.float64\]`, `stat\.Squares\[go\.shape\.int64\]`, `stat\.Squares\[go\.shape\.float64\]`, `stat\.Between`, `stat\.Position`, `stat\.\(\*Sum\)\.Add`} {
		if !regexp.MustCompile(`(?m)^\S*` + name + ` STEXT`).Match(listing) {
			t.Errorf("the listing lacks %s", name)
		}
	}
	if !regexp.MustCompile(`\bFMULD\b`).Match(listing) {
		t.Error("the listing has no product: the test shows nothing")
	}
	if at := fused.FindIndex(listing); at != nil {
		t.Errorf("one instruction for a product and a sum: %s", listing[max(at[0]-200, 0):min(at[1]+40, len(listing))])
	}
	// A product and a sum that the platform may round once.
	lerp := filepath.Join(t.TempDir(), "lerp.go")
	if err := os.WriteFile(lerp, []byte("package lerp\n\nfunc Lerp(x, f, d float64) float64 { return x + f*d }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !fused.Match(assembly("tool", "compile", "-p", "lerp", "-S", "-o", os.DevNull, lerp)) {
		t.Error("the compiler fuses nothing where nothing is converted: the test shows nothing")
	}
}

func TestSum(t *testing.T) {
	for _, tt := range []struct {
		x    []float64
		want float64
	}{
		{nil, 0},
		{[]float64{1, 1e100, 1, -1e100}, 2},
		{slices.Repeat([]float64{0.1}, 10), 1},
	} {
		var s Sum
		for _, v := range tt.x {
			s.Add(v)
		}
		if s.Value() != tt.want {
			t.Errorf("sum of %v: %v, want %v", tt.x, s.Value(), tt.want)
		}
	}
}
