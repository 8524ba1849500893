package summary

import (
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/answer"
)

// PerToken computes the metric ITLPerToken. It does not store the times per token, because they follow from
// the gaps in the sample of ITL. It stores how they follow: 16 bytes for a request, and half a byte for each
// gap whose tokens the server counts. While each event has one token, the summary of ITL serves both metrics.
// From the first other event on, PerToken counts the times per token in ranges as they come, and reads the
// gaps again for the percentiles.
type PerToken struct {
	Memory  *stat.Store
	scales  []scale    // of all gaps, in their order
	tokens  *stat.List // see packTokens; nil without
	differs bool       // not all values are gaps
	counter stat.Counter[float64]
	moments stat.Moments
	own     *Summary // if differs; nil without values
	Err     error    // gaps could not be read back

	// Buffers.
	values  []float64
	shared  []int64
	weights []int32
	gaps    []int64
	words   []int64
	few     []int32
}

// A scale says how successive gaps become times per token. A factor above 0 multiplies each gap. The factor 0
// yields no times. With sharedPacked and sharedWide, the tokens of each event share the gap.
type scale struct {
	n      int // gaps
	factor float64
}

// The factors of scales whose gaps are shared by the tokens of their events. Such a scale is of one request, and
// PerToken.tokens holds its numbers of tokens.
const (
	sharedPacked = -1 // PerToken.tokens has tokensInWord numbers in each word
	sharedWide   = -2 // PerToken.tokens has a number in each word
)

const (
	tokensInWord = 8 // numbers of packed tokens in a word of 32 bits
	tokenBits    = 4
	mostPacked   = 1<<tokenBits - 1

	// replayedGaps is about the number of gaps that replay reads at a time.
	replayedGaps = 1 << 10
)

// Add adds the times per token that follow from the gaps of a request. factor turns a gap into a time per token;
// 0 yields no times. tokens holds the number of tokens at the end of each gap, which share the time, in place of a
// factor; nil elsewhere. itl holds the gaps of the earlier requests and then of this one; added holds the sums of its
// gaps.
func (c *PerToken) Add(gaps []int64, tokens []int32, factor float64, itl *Sample[int64], added Sums) {
	if len(gaps) == 0 {
		return
	}
	s := scale{len(gaps), factor}
	if tokens != nil {
		s.factor = c.packTokens(tokens)
	}
	if !c.differs && s.factor != 1 {
		c.differs = true
		c.Err = c.replay(itl, func(gaps []int64, tokens []int32, factor float64) {
			var s Sums
			s.addAll(gaps)
			c.count(gaps, s, tokens, factor)
		})
	}
	if last := len(c.scales) - 1; last >= 0 && s.factor >= 0 && c.scales[last].factor == s.factor {
		c.scales[last].n += s.n
	} else {
		c.scales = append(c.scales, s)
	}
	if c.differs {
		c.count(gaps, added, tokens, s.factor)
	}
}

// packTokens keeps the numbers of tokens of a request. It returns sharedPacked or sharedWide, which says how.
func (c *PerToken) packTokens(tokens []int32) (factor float64) {
	if c.tokens == nil {
		if c.Memory == nil {
			c.Memory = stat.NewStore(0, "")
		}
		c.tokens = c.Memory.NewList(stat.Whole)
	}
	c.words = c.words[:0]
	if slices.Max(tokens) > mostPacked {
		for _, n := range tokens {
			c.words = append(c.words, int64(n))
		}
		c.tokens.Add(c.words...)
		return sharedWide
	}
	for some := range slices.Chunk(tokens, tokensInWord) {
		word := int64(0)
		for i, n := range some {
			word |= int64(n) << (i * tokenBits)
		}
		c.words = append(c.words, word)
	}
	c.tokens.Add(c.words...)
	return sharedPacked
}

// unpackTokens reads the numbers of tokens of n gaps.
func (c *PerToken) unpackTokens(r *stat.Reader, n int, factor float64) ([]int32, error) {
	perWord := 1
	if factor == sharedPacked {
		perWord = tokensInWord
	}
	c.words = slices.Grow(c.words[:0], n)[:(n+perWord-1)/perWord]
	if _, err := r.Read(c.words); err != nil {
		return nil, err
	}
	c.few = slices.Grow(c.few[:0], n)[:n]
	left := c.few
	for _, word := range c.words {
		if perWord == 1 {
			left[0] = int32(word)
			left = left[1:]
			continue
		}
		some := left[:min(len(left), perWord)]
		for i := range some {
			some[i] = int32(word & mostPacked)
			word >>= tokenBits
		}
		left = left[len(some):]
	}
	return c.few, nil
}

// replay calls do with all gaps so far, in their order, and with the factor that turns them into times per token.
// tokens holds the numbers of tokens of the gaps for sharedPacked and sharedWide; it is nil for other factors.
func (c *PerToken) replay(itl *Sample[int64], do func(gaps []int64, tokens []int32, factor float64)) error {
	if len(c.scales) == 0 {
		return nil
	}
	gaps := itl.sorter.Reader()
	var words *stat.Reader
	if c.tokens != nil {
		words = c.tokens.Reader()
	}
	for _, s := range c.scales {
		for left := s.n; left > 0; {
			n := left
			var tokens []int32
			var err error
			if s.factor >= 0 {
				n = min(n, replayedGaps)
			} else if tokens, err = c.unpackTokens(words, n, s.factor); err != nil {
				return err
			}
			c.gaps = slices.Grow(c.gaps[:0], n)[:n]
			if _, err := gaps.Read(c.gaps); err != nil {
				return err
			}
			do(c.gaps, tokens, s.factor)
			left -= n
		}
	}
	return nil
}

// count counts the times per token of gaps with these sums, and adds them up.
func (c *PerToken) count(gaps []int64, s Sums, tokens []int32, factor float64) {
	values, weights := c.timesPerToken(gaps, tokens, factor)
	if factor > 0 {
		c.moments.AddScaled(factor, len(gaps), s.sum, s.squares)
	} else if factor < 0 {
		c.moments.AddShares(c.shared, weights)
	}
	c.counter.Add(values, weights)
}

// timesPerToken returns times per token and how often each counts, for an [stat.AddFunc[float64]]. With a factor
// below 0, it sets c.shared to the times that the tokens share.
func (c *PerToken) timesPerToken(gaps []int64, tokens []int32, factor float64) (values []float64, weights []int32) {
	c.values = slices.Grow(c.values[:0], len(gaps))[:len(gaps)]
	values = c.values
	switch {
	case factor == 0:
		return nil, nil
	case factor > 0:
		for i, g := range gaps {
			values[i] = float64(g) * factor
		}
		return values, nil
	}
	c.weights = slices.Grow(c.weights[:0], len(gaps))[:len(gaps)]
	c.shared = slices.Grow(c.shared[:0], len(gaps))[:len(gaps)]
	weights, shared := c.weights, c.shared
	n := 0
	answer.EachShared(gaps, tokens, func(_ int, ns int64, k int32) {
		values[n], shared[n], weights[n] = float64(ns)/float64(k), ns, k
		n++
	})
	c.shared = shared[:n]
	return values[:n], weights[:n]
}

// Finish sets own, the summary of the times per token. itl holds the gaps of all requests, in the order in which
// they came.
func (c *PerToken) Finish(itl *Sample[int64]) {
	n := c.counter.Len()
	if n > 0 && c.Err == nil {
		p := pickedOf(n, summaryPlaces(n))
		var err error
		p.values, err = c.counter.Pick(p.places, func(add stat.AddFunc[float64]) error {
			return c.replay(itl, func(gaps []int64, tokens []int32, factor float64) {
				add(c.timesPerToken(gaps, tokens, factor))
			})
		})
		c.Err = err
		if err == nil {
			c.own = &Summary{N: n, Mean: c.moments.Mean()}
			if p.describe(c.own); c.own.Min < c.own.Max {
				c.own.Std = c.moments.Std()
			}
		}
	}
	if c.tokens != nil {
		c.tokens.Release()
	}
	c.scales = nil
}

// Summary returns the summary of the times per token, after Finish; itl is the summary of ITL.
func (c *PerToken) Summary(itl *Summary) *Summary {
	if c.differs || itl == nil {
		return c.own
	}
	s := *itl
	s.Certified, s.Curve = nil, nil
	return &s
}
