package settings

import (
	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/slo"
)

// ObjectiveFlags returns the flags for service-level objectives (--slo).
func ObjectiveFlags() []cli.Flag {
	const category = "Objective"
	return []cli.Flag{
		&cli.StringFlag{Name: "slo", Usage: "how many requests meet `EXPR`, such as 'ttft<=200ms && itl_p99<=50ms'", Category: category},
		&cli.StringFlag{Name: "slo-target", Usage: "the `SHARE` of requests that should meet it", Value: "99%", Category: category},
		&cli.BoolFlag{Name: "slo-gate", Usage: "exit code 3 when a level does not attain the target, or that cannot be told", Category: category},
	}
}

// objective reads the flags of ObjectiveFlags into cfg.
func objective(c *cli.Context, cfg *analyze.Config) (err error) {
	if !c.IsSet("slo") {
		for _, f := range []string{"slo-target", "slo-gate"} {
			if c.IsSet(f) {
				return cmdline.Usagef("--%s needs --slo: what should requests meet?", f)
			}
		}
		return nil
	}
	if cfg.SLO, err = slo.Parse(c.String("slo")); err != nil {
		return cmdline.Usagef("--slo: %v", err)
	}
	if cfg.SLOTarget, err = share(c.String("slo-target")); err != nil {
		return cmdline.Usagef("--slo-target %q: %v", c.String("slo-target"), err)
	}
	cfg.Verify = c.Bool("slo-gate")
	return nil
}
