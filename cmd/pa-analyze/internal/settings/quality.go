package settings

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
)

const qualityGroup = "Quality"

// qualityFlags lists the flags that set the parameters of the metrics of quality.
var qualityFlags = []string{"due-first", "due-next", "fluidity", "fluid-share", "reader-pace", "stall", "stall-factor"}

// QualityParameterFlags returns the flags of the parameters of the metrics of quality.
func QualityParameterFlags() []cli.Flag {
	q := analyze.DefaultQuality()
	return []cli.Flag{
		&cli.DurationFlag{Name: "due-first", Usage: "the first token is due after `TIME`", Value: time.Duration(q.FirstTokenNS), Category: qualityGroup},
		&cli.DurationFlag{Name: "due-next", Usage: "each later token is due `TIME` after the previous token", Value: time.Duration(q.TokenNS), Category: qualityGroup},
		&cli.Float64Flag{Name: "fluidity", Usage: "the fluid token rate has requests with a fluidity index of `INDEX`", Value: q.Target, Category: qualityGroup},
		&cli.Float64Flag{Name: "fluid-share", Usage: "the fluid token rate is met by a `SHARE` of the requests", Value: q.Share, Category: qualityGroup},
		&cli.DurationFlag{Name: "reader-pace", Usage: "a reader takes `TIME` for each token", Value: time.Duration(q.PaceNS), Category: qualityGroup},
		&cli.DurationFlag{Name: "stall", Usage: "a stall is a gap longer than `TIME`", Value: time.Duration(q.StallNS), Category: qualityGroup},
		&cli.Float64Flag{Name: "stall-factor", Usage: "and longer than `N` times the median gap of its request", Value: q.StallFactor, Category: qualityGroup},
	}
}

// Quality reads --metrics and the flags of QualityParameterFlags into cfg.
func Quality(c *cli.Context, cfg *analyze.Config) error {
	groups, err := metricGroups(c)
	if err != nil {
		return err
	}
	if !groups["quality"] {
		for _, name := range qualityFlags {
			if c.IsSet(name) {
				return cmdline.Usagef("--%s needs --metrics quality", name)
			}
		}
		return nil
	}
	q, err := QualityParameters(c)
	if err == nil {
		cfg.Quality = &q
	}
	return err
}

// QualityParameters reads the flags of QualityParameterFlags.
func QualityParameters(c *cli.Context) (analyze.QualityConfig, error) {
	q := analyze.QualityConfig{
		FirstTokenNS: int64(c.Duration("due-first")), TokenNS: int64(c.Duration("due-next")), Target: c.Float64("fluidity"), Share: c.Float64("fluid-share"),
		PaceNS: int64(c.Duration("reader-pace")), StallNS: int64(c.Duration("stall")), StallFactor: c.Float64("stall-factor"),
	}
	const longest = int64(24 * time.Hour)
	for _, x := range []struct {
		name string
		ns   int64
	}{{"due-first", q.FirstTokenNS}, {"due-next", q.TokenNS}, {"reader-pace", q.PaceNS}, {"stall", q.StallNS}} {
		if x.ns < 1 || x.ns > longest {
			return q, cmdline.Usagef("--%s %v: give a duration above 0 and at most 24h, such as 50ms", x.name, time.Duration(x.ns))
		}
	}
	for _, x := range []struct {
		name  string
		share float64
	}{{"fluidity", q.Target}, {"fluid-share", q.Share}} {
		if !(x.share > 0 && x.share <= 1) {
			return q, cmdline.Usagef("--%s %v: give a number above 0 and at most 1, such as 0.9", x.name, x.share)
		}
	}
	if !(q.StallFactor >= 0 && q.StallFactor <= 1e6) {
		return q, cmdline.Usagef("--stall-factor %v: give a number from 0 to 1000000", q.StallFactor)
	}
	return q, nil
}
