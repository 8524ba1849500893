package synth

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
)

// A LengthDistribution is a random distribution of lengths, in tokens.
type LengthDistribution interface {
	// Draw returns a length of at least 1.
	Draw(r *rand.Rand) int
	// MeanLength returns the mean of the lengths, for short ones about.
	MeanLength() float64
	// Validate reports parameters that Draw cannot use.
	Validate() error
	// String returns the distribution in the form that ParseLengthDistribution reads.
	String() string
}

// Fixed always draws N.
type Fixed struct{ N int }

// Draw implements LengthDistribution.
func (f Fixed) Draw(*rand.Rand) int { return f.N }

// MeanLength implements LengthDistribution.
func (f Fixed) MeanLength() float64 { return float64(f.N) }

// Validate implements LengthDistribution.
func (f Fixed) Validate() error { return positive("length", f.N) }

func (f Fixed) String() string { return fmt.Sprintf("fixed:%d", f.N) }

// Normal is a rounded normal distribution with Stddev ≤ Mean. Values below 1 are drawn
// again, so the real mean exceeds Mean. For a Mean of 20 or more the excess is below 1 % of
// Stddev up to Stddev = Mean/3, about 6 % at Mean/2 and 30 % at Mean.
type Normal struct{ Mean, Stddev float64 }

// Draw implements LengthDistribution.
func (n Normal) Draw(r *rand.Rand) int {
	for {
		if x := math.Round(n.Mean + n.Stddev*r.NormFloat64()); x >= 1 && x <= maxLength {
			return int(x)
		}
	}
}

// MeanLength implements LengthDistribution. It is the mean of a normal distribution without its
// part below one half, which is drawn again.
func (n Normal) MeanLength() float64 {
	if n.Stddev == 0 {
		return math.Round(n.Mean)
	}
	z := (0.5 - n.Mean) / n.Stddev
	density, kept := math.Exp(-z*z/2)/math.Sqrt(2*math.Pi), math.Erfc(z/math.Sqrt2)/2
	return n.Mean + n.Stddev*density/kept
}

// Validate implements LengthDistribution.
func (n Normal) Validate() error {
	switch {
	case !(n.Mean >= 1 && n.Mean <= maxLength):
		return fmt.Errorf("mean %v: must be from 1 to %d", n.Mean, maxLength)
	case !(n.Stddev >= 0):
		return fmt.Errorf("standard deviation %v: must not be negative", n.Stddev)
	case n.Stddev > n.Mean:
		return fmt.Errorf("standard deviation %v is larger than the mean %v: one length in six would be below 0; use lognormal:%v,%v", n.Stddev, n.Mean, n.Mean, n.Stddev)
	}
	return nil
}

func (n Normal) String() string { return fmt.Sprintf("normal:%v,%v", n.Mean, n.Stddev) }

// Uniform draws each integer from Low to High with the same probability.
type Uniform struct{ Low, High int }

// Draw implements LengthDistribution.
func (u Uniform) Draw(r *rand.Rand) int { return u.Low + r.IntN(u.High-u.Low+1) }

// MeanLength implements LengthDistribution.
func (u Uniform) MeanLength() float64 { return float64(u.Low+u.High) / 2 }

// Validate implements LengthDistribution.
func (u Uniform) Validate() error {
	if err := errors.Join(positive("lower end", u.Low), positive("upper end", u.High)); err != nil {
		return err
	}
	if u.High < u.Low {
		return fmt.Errorf("the upper end %d is below the lower end %d", u.High, u.Low)
	}
	return nil
}

func (u Uniform) String() string { return fmt.Sprintf("uniform:%d,%d", u.Low, u.High) }

// LogNormal is a rounded log-normal distribution with a minimum of 1. Mean and Stddev
// describe the lengths, not their logarithms:
//
//	σ² = ln(1 + Stddev²/Mean²), μ = ln Mean − σ²/2
type LogNormal struct{ Mean, Stddev float64 }

// Draw implements LengthDistribution.
func (l LogNormal) Draw(r *rand.Rand) int {
	variance := math.Log1p(l.Stddev * l.Stddev / (l.Mean * l.Mean))
	x := math.Exp(math.Log(l.Mean) - variance/2 + math.Sqrt(variance)*r.NormFloat64())
	return int(max(1, min(maxLength, math.Round(x))))
}

// MeanLength implements LengthDistribution. It leaves the bounds of the lengths out of account.
func (l LogNormal) MeanLength() float64 { return l.Mean }

// Validate implements LengthDistribution.
func (l LogNormal) Validate() error {
	switch {
	case !(l.Mean >= 1 && l.Mean <= maxLength):
		return fmt.Errorf("mean %v: must be from 1 to %d", l.Mean, maxLength)
	case !(l.Stddev >= 0) || math.IsInf(l.Stddev, 0):
		return fmt.Errorf("standard deviation %v: must not be negative", l.Stddev)
	}
	return nil
}

func (l LogNormal) String() string { return fmt.Sprintf("lognormal:%v,%v", l.Mean, l.Stddev) }

// A Histogram draws a bin by its weight, then a length within the bin.
type Histogram struct {
	Name string // file name, for String
	Bins []Bin
	sums []float64 // cumulative weights
}

// A Bin covers the lengths from Low to High with equal probability.
type Bin struct {
	Low, High int
	Weight    float64
}

// Draw implements LengthDistribution.
func (h *Histogram) Draw(r *rand.Rand) int {
	x := r.Float64() * h.sums[len(h.sums)-1]
	i := sort.Search(len(h.sums), func(i int) bool { return h.sums[i] > x })
	b := h.Bins[min(i, len(h.Bins)-1)]
	return Uniform{b.Low, b.High}.Draw(r)
}

// MeanLength implements LengthDistribution.
func (h *Histogram) MeanLength() float64 {
	sum := 0.0
	for _, b := range h.Bins {
		sum += b.Weight * Uniform{b.Low, b.High}.MeanLength()
	}
	return sum / h.sums[len(h.sums)-1]
}

// Validate implements LengthDistribution.
func (h *Histogram) Validate() error {
	if len(h.sums) == 0 || h.sums[len(h.sums)-1] <= 0 {
		return fmt.Errorf("%s: no length has a weight", h.Name)
	}
	return nil
}

func (h *Histogram) String() string { return "histogram:" + h.Name }

// readHistogram reads one bin per line, "LENGTH,WEIGHT" or "LOW-HIGH,WEIGHT". It skips
// blank lines, lines that begin with #, and column names in the first line. name is for
// messages.
func readHistogram(name string, r io.Reader) (*Histogram, error) {
	h := &Histogram{Name: name}
	sum := 0.0
	s := bufio.NewScanner(r)
	for line := 1; s.Scan(); line++ {
		text := strings.TrimSpace(s.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		b, err := parseBin(text)
		if err != nil {
			if len(h.Bins) == 0 && line == 1 && !strings.ContainsAny(text, "0123456789") {
				continue // the names of columns
			}
			return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
		}
		sum += b.Weight
		h.Bins, h.sums = append(h.Bins, b), append(h.sums, sum)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return h, h.Validate()
}

func parseBin(text string) (b Bin, err error) {
	lengths, weight, ok := strings.Cut(text, ",")
	if !ok {
		return b, fmt.Errorf("%.40q: expected LENGTH,WEIGHT or LOW-HIGH,WEIGHT", text)
	}
	low, high, isRange := strings.Cut(strings.TrimSpace(lengths), "-")
	if !isRange {
		high = low
	}
	if b.Low, err = parseLength(low); err != nil {
		return b, err
	}
	if b.High, err = parseLength(high); err != nil {
		return b, err
	}
	if err := (Uniform{b.Low, b.High}).Validate(); err != nil {
		return b, err
	}
	if b.Weight, err = strconv.ParseFloat(strings.TrimSpace(weight), 64); err != nil || !(b.Weight >= 0) || math.IsInf(b.Weight, 0) {
		return b, fmt.Errorf("weight %.40q: must be a number of at least 0", strings.TrimSpace(weight))
	}
	return b, nil
}

// maxLength bounds a length, so that a typing error does not exhaust the memory.
const maxLength = 1 << 24

func positive(what string, n int) error {
	if n < 1 || n > maxLength {
		return fmt.Errorf("%s %d: must be from 1 to %d", what, n, maxLength)
	}
	return nil
}

func parseLength(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a whole number", strings.TrimSpace(text))
	}
	return n, nil
}

// ParseLengthDistribution parses one of
//
//	N  fixed:N  normal:MEAN,STDDEV  uniform:LOW,HIGH  lognormal:MEAN,STDDEV  histogram:FILE
//
// and validates the result. It opens the file of a histogram.
func ParseLengthDistribution(text string) (LengthDistribution, error) {
	name, args, ok := strings.Cut(text, ":")
	if !ok {
		name, args = "fixed", text
	}
	var d LengthDistribution
	var err error
	switch name {
	case "fixed":
		var n int
		n, err = parseLength(args)
		d = Fixed{n}
	case "uniform":
		var low, high float64
		low, high, err = parsePair(args)
		if err == nil && (low != math.Trunc(low) || high != math.Trunc(high)) {
			err = fmt.Errorf("%s: both ends must be whole numbers", args)
		}
		d = Uniform{int(low), int(high)}
	case "normal":
		var n Normal
		n.Mean, n.Stddev, err = parsePair(args)
		d = n
	case "lognormal":
		var l LogNormal
		l.Mean, l.Stddev, err = parsePair(args)
		d = l
	case "histogram":
		return readHistogramFile(args)
	default:
		err = fmt.Errorf("unknown distribution %.40q; write fixed:N, normal:MEAN,STDDEV, uniform:LOW,HIGH, lognormal:MEAN,STDDEV or histogram:FILE", name)
	}
	if err != nil {
		return nil, err
	}
	return d, d.Validate()
}

func parsePair(text string) (a, b float64, err error) {
	first, second, ok := strings.Cut(text, ",")
	if ok {
		if a, err = strconv.ParseFloat(strings.TrimSpace(first), 64); err == nil {
			b, err = strconv.ParseFloat(strings.TrimSpace(second), 64)
		}
	}
	if !ok || err != nil || math.Abs(a) > 1e18 || math.Abs(b) > 1e18 || math.IsNaN(a) || math.IsNaN(b) {
		return 0, 0, fmt.Errorf("%.40q: expected two numbers with a comma between them", text)
	}
	return a, b, nil
}

func readHistogramFile(path string) (LengthDistribution, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readHistogram(path, f)
}
