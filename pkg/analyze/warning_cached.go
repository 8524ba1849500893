package analyze

import (
	"fmt"
	"math"

	"github.com/pa-tools/pa/pkg/analyze/figure"
)

// cachedWarning returns the warning about input tokens that the server had in its cache although
// the requests of the level do not share them; nil if there are too few. flags says that the
// message may name flags of pa-record.
func cachedWarning(c *figure.Cached, flags bool) *Warning {
	remedy := func(text string) string {
		if flags {
			return text
		}
		return ""
	}
	const cached = "%s of the input tokens were in the server's cache"
	switch {
	case c.Share <= figure.CachedThreshold, c.Earlier <= figure.CachedThreshold && c.Elsewhere <= figure.CachedThreshold:
		return nil
	case c.Again:
		return newWarning(KindCache, cached+": an earlier level or run had sent the same prompts%s", percent(c.Share), remedy("; "+freshPrompts))
	case !c.Known:
		return newWarning(KindCache, cached+"; the prompts, which would show why, are not in the columns that were read, or not in the file", percent(c.Share))
	case c.Earlier > figure.CachedThreshold && c.Earlier >= c.Elsewhere:
		return newWarning(KindCache, cached+": %swere sent at %s%s%s", percent(c.Share), whichCached(c, c.Earlier), c.EarlierLevel, otherCached(c, c.Earlier), remedy("; "+freshPrompts))
	}
	return newWarning(KindCache, cached+": %swere not sent by an earlier request of this file, but by an earlier run or by another client%s%s", percent(c.Share), whichCached(c, c.Elsewhere), otherCached(c, c.Elsewhere), remedy("; --cache-bust begins prompts with new text"))
}

// whichCached begins a sentence about a part of Share: "they " if it is most of it.
func whichCached(c *figure.Cached, part float64) string {
	if mostCached(c, part) {
		return "they "
	}
	return percent(part) + " "
}

// otherCached ends such a sentence with the rest of Share.
func otherCached(c *figure.Cached, part float64) string {
	if mostCached(c, part) {
		return ""
	}
	if c.Own+c.Earlier+c.Elsewhere-part <= figure.CachedThreshold { // no request explains the rest
		return ", the rest may be the server's own text, such as a chat template"
	}
	return ", the rest is what prompts of this level share, and the server's own text"
}

// mostCached reports whether a part of Share is most of it.
func mostCached(c *figure.Cached, part float64) bool { return c.Share-part < 2*figure.CachedThreshold }

// freshPrompts is the remedy for prompts that are sent again.
const freshPrompts = "send others: more input data, --prompts fresh, or --cache-bust"

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// addCached adds to the levels of a report which of their input tokens were cached, and warnings.
func addCached(p *figure.Prompts, rep *Report) {
	names := make([]string, len(rep.Experiments))
	first := uint64(math.MaxUint64) // start of the first level
	for i := range names {
		e := &rep.Experiments[i]
		names[i] = LevelName(e.Mode, e.Value, e.Load)
		if start := p.StartNS(i); start != 0 {
			first = min(first, start)
		}
	}
	for i, c := range p.Cached(names) {
		e := &rep.Experiments[i]
		e.Cached = c
		if c == nil || e.Problem != nil {
			continue
		}
		if m := rep.Run.Experiments[i].Meta; m != nil && m.Prompts != nil && !c.Known {
			sent := m.Prompts
			c.Again = !sent.MadeUp && (sent.Restart && sent.CacheSalt == "" && p.StartNS(i) > first || sent.First > 0 && sent.Again() > 0)
		}
		if w := cachedWarning(c, rep.FromRecorder()); w != nil {
			e.Warnings = append(e.Warnings, w)
		}
	}
}
