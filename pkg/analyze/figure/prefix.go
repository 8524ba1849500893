package figure

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Prefix says how many input tokens the server's prefix cache held, and how the time to the first
// token grows with the input tokens that it did not hold. It is about successful requests.
type Prefix struct {
	// Stated counts the requests whose answers state input tokens and cached tokens, which may be 0;
	// Unstated counts the others.
	Stated, Unstated int
	// Figures holds the figures that PrefixFigures lists, without KeyHitRateZero where it would repeat KeyHitRate.
	Figures []Figure
	// Buckets divide the stated requests with a TTFT by their uncached input tokens, in ascending order.
	Buckets []PrefixBucket
}

// A PrefixBucket holds the requests with From to To uncached input tokens. Times are nanoseconds.
type PrefixBucket struct {
	From, To int64
	N        int
	// CachedShare is Σ cached / Σ input tokens of these requests.
	CachedShare float64
	// Mean, P50 and P90 are of the TTFT.
	Mean, P50, P90 float64
}

// The keys of the figures.
const (
	KeyHitRate      = "hit_rate"
	KeyHitRateZero  = "hit_rate_absent_is_0"
	KeyTTFTSlope    = "ttft_ns_per_uncached_token"
	KeyTTFTBase     = "ttft_ns_without_uncached_tokens"
	KeyTTFTExplains = "ttft_r_squared"
)

// PrefixFigures are the figures of [Prefix] without values, in the order of a report.
var PrefixFigures = [...]Figure{
	{Key: KeyHitRate, Label: "prefix-cache hit rate", Unit: "ratio", Formula: "Σ cached / Σ input tokens, of requests whose answers state both", Source: "AIPerf"},
	{Key: KeyHitRateZero, Label: "hit rate if answers without cached tokens had none", Unit: "ratio", Formula: "Σ cached / Σ input tokens, of all requests with input tokens"},
	{Key: KeyTTFTSlope, Label: "TTFT per uncached input token", Unit: "ns", Formula: "slope of the line of least squares of TTFT over uncached input tokens"},
	{Key: KeyTTFTBase, Label: "TTFT at no uncached input token", Unit: "ns", Formula: "value of the line at 0"},
	{Key: KeyTTFTExplains, Label: "share of the TTFT's variance that the line explains", Unit: "ratio", Formula: "square of the correlation"},
}

// An uncached is a request with known input and cached tokens; ttft is export.Missing without a TTFT.
type uncached struct{ tokens, input, ttft int64 }

// A prefixCollector gathers the values of a level. It keeps 24 bytes for each request.
type prefixCollector struct {
	stated []uncached
	// input and cached are sums of the stated requests, others the input tokens of other requests.
	input, cached, others stat.IntSum
	unstated              int
}

// NewPrefix returns the group of [Prefix].
func NewPrefix() Group { return &prefixCollector{} }

// Add implements [Group]. A request with more cached than input tokens states nothing.
func (c *prefixCollector) Add(p *answer.Measured) {
	in, cached := p.InputTokens, p.CachedTokens
	uncachedTokens := p.UncachedInput()
	if !uncachedTokens.OK {
		c.unstated++
		if in.OK && in.V > 0 {
			c.others.Add(in.V)
		}
		return
	}
	c.input.Add(in.V)
	c.cached.Add(cached.V)
	c.stated = append(c.stated, uncached{uncachedTokens.V, in.V, p.TTFT.OrMissing()})
}

// withoutCached returns why no request of a run has cached tokens. A file of another tool need not hold answers, so its
// reason names no member of an answer.
func withoutCached(run *export.Run) string {
	if m := run.Meta; m != nil && m.Import != nil && m.Import.Format != "" {
		return m.Import.Format + " states no cached tokens"
	}
	return "no answer states cached tokens (usage.prompt_tokens_details.cached_tokens)"
}

// End implements [Group].
func (c *prefixCollector) End() error { return nil }

// Set implements [Group].
func (c *prefixCollector) Set(x *Level, run *export.Run) {
	x.Prefix = c.finish(cmp.Or(x.WhyNot(answer.CachedTokens.Key()), withoutCached(run)))
}

// finish returns the figures of the level. without is the reason why no request states cached tokens, if none does.
func (c *prefixCollector) finish(without string) *Prefix {
	p := &Prefix{Stated: len(c.stated), Unstated: c.unstated}
	timed := slices.DeleteFunc(slices.Clone(c.stated), func(u uncached) bool { return u.ttft == export.Missing })
	slices.SortFunc(timed, func(a, b uncached) int {
		return cmp.Or(cmp.Compare(a.tokens, b.tokens), cmp.Compare(a.ttft, b.ttft), cmp.Compare(a.input, b.input))
	})
	line := lineOf(timed)
	for _, f := range PrefixFigures {
		switch {
		case p.Stated == 0:
			f.Why = without
		case f.Key == KeyHitRate:
			f.Value = c.cached.Float64() / c.input.Float64()
		case f.Key == KeyHitRateZero:
			all := c.input
			all.AddSum(c.others)
			f.Value = c.cached.Float64() / all.Float64()
		case line.why != "":
			f.Why = line.why
		default:
			f.Value = map[string]float64{KeyTTFTSlope: line.slope, KeyTTFTBase: line.base, KeyTTFTExplains: line.explains}[f.Key]
			if math.IsNaN(f.Value) {
				f.Why = "all requests have the same TTFT"
				f.Value = 0
			}
		}
		if f.Key != KeyHitRateZero || p.Stated > 0 && c.others.Float64() > 0 {
			p.Figures = append(p.Figures, f)
		}
	}
	p.Buckets = bucketsOf(timed)
	return p
}

// bucketsOf divides requests in ascending order of tokens by powers of two: 0, 1, 2 to 3, 4 to 7, …
func bucketsOf(timed []uncached) []PrefixBucket {
	var all []PrefixBucket
	for len(timed) > 0 {
		k := bits.Len64(uint64(timed[0].tokens))
		n := 0
		for n < len(timed) && bits.Len64(uint64(timed[n].tokens)) == k {
			n++
		}
		b := PrefixBucket{N: n}
		if k > 0 {
			b.From, b.To = 1<<(k-1), 1<<(k-1)-1+1<<(k-1)
		}
		var sum, uncachedTokens, input stat.IntSum
		ttft := make([]int64, n)
		for i, u := range timed[:n] {
			ttft[i] = u.ttft
			sum.Add(u.ttft)
			uncachedTokens.Add(u.tokens)
			input.Add(u.input)
		}
		slices.Sort(ttft)
		b.Mean, b.P50, b.P90 = sum.Div(n), stat.Quantile(ttft, 0.5), stat.Quantile(ttft, 0.9)
		b.CachedShare = 1 - uncachedTokens.Float64()/input.Float64()
		all = append(all, b)
		timed = timed[n:]
	}
	return all
}

// A line is the line of least squares through requests, or the reason why there is none.
type line struct {
	slope, base, explains float64 // explains is NaN if the TTFT is always the same
	why                   string
}

// lineOf computes the line from whole numbers: with floats, little of a small slope is left of the
// differences of large products.
func lineOf(timed []uncached) line {
	if len(timed) < 3 {
		return line{why: "fewer than 3 requests state cached tokens and have a TTFT"}
	}
	var x, y, product, sumX, sumY, xx, xy, yy big.Int
	for _, u := range timed {
		x.SetInt64(u.tokens)
		y.SetInt64(u.ttft)
		sumX.Add(&sumX, &x)
		sumY.Add(&sumY, &y)
		xx.Add(&xx, product.Mul(&x, &x))
		xy.Add(&xy, product.Mul(&x, &y))
		yy.Add(&yy, product.Mul(&y, &y))
	}
	// n times the sums of products of the differences from the means.
	n := big.NewInt(int64(len(timed)))
	centered := func(sum, a, b *big.Int) *big.Int {
		return new(big.Int).Sub(new(big.Int).Mul(n, sum), new(big.Int).Mul(a, b))
	}
	cxx, cxy, cyy := centered(&xx, &sumX, &sumX), centered(&xy, &sumX, &sumY), centered(&yy, &sumY, &sumY)
	if cxx.Sign() == 0 {
		return line{why: "all requests have the same number of uncached input tokens"}
	}
	l := line{explains: math.NaN()}
	slope := new(big.Rat).SetFrac(cxy, cxx)
	base := new(big.Rat).Mul(slope, new(big.Rat).SetInt(&sumX))
	base.Sub(new(big.Rat).SetInt(&sumY), base).Quo(base, new(big.Rat).SetInt(n))
	l.slope, _ = slope.Float64()
	l.base, _ = base.Float64()
	if cyy.Sign() > 0 {
		l.explains, _ = new(big.Rat).SetFrac(new(big.Int).Mul(cxy, cxy), new(big.Int).Mul(cxx, cyy)).Float64()
	}
	return l
}
