package settings

import (
	"math"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
)

const economicsGroup = "Economics"

// MostGPUs is the largest number of GPUs that flags take.
const MostGPUs = 1_000_000

// economicsFlags lists the flags that set the parameters of the figures of economics.
var economicsFlags = []string{"gpus", "idle-power", "gpu-hour-price", "energy-price"}

// EconomicsFlags returns the parameters of the figures of economics.
func EconomicsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "gpus", Usage: "the server had `N` GPUs (default: as many as the telemetry of the file has)", Category: economicsGroup},
		&cli.Float64Flag{Name: "idle-power", Usage: "subtract the energy of idle GPUs, each of which takes `WATTS`", Category: economicsGroup},
		&cli.Float64Flag{Name: "gpu-hour-price", Usage: "one GPU costs `DOLLARS` an hour", Category: economicsGroup},
		&cli.Float64Flag{Name: "energy-price", Usage: "a kWh costs `DOLLARS`", Category: economicsGroup},
	}
}

// Economics reads --metrics and the flags of EconomicsFlags into cfg.
func Economics(c *cli.Context, cfg *analyze.Config) error {
	groups, err := metricGroups(c)
	if err != nil {
		return err
	}
	cfg.Prefix, cfg.Phases = groups["prefix"], groups["phases"]
	if !groups["economics"] {
		for _, name := range economicsFlags {
			if c.IsSet(name) {
				return cmdline.Usagef("--%s needs --metrics economics", name)
			}
		}
		return nil
	}
	e := analyze.EconomicsConfig{GPUs: c.Int("gpus")}
	if c.IsSet("gpus") && (e.GPUs < 1 || e.GPUs > MostGPUs) {
		return cmdline.Usagef("--gpus %d: give a number from 1 on, such as 8", e.GPUs)
	}
	for _, x := range []struct {
		name string
		to   *float64
	}{{"idle-power", &e.IdleWatts}, {"gpu-hour-price", &e.GPUHourPrice}, {"energy-price", &e.EnergyPrice}} {
		if *x.to = c.Float64(x.name); c.IsSet(x.name) && !(*x.to > 0 && !math.IsInf(*x.to, 0)) {
			return cmdline.Usagef("--%s %v: give a number above 0, such as 0.15", x.name, *x.to)
		}
	}
	cfg.Economics = &e
	return nil
}

// ObjectiveConfig reads the flags of Config, ObjectiveFlags and the limit of memory.
func ObjectiveConfig(c *cli.Context) (analyze.Config, error) {
	cfg, err := Config(c)
	if err != nil {
		return cfg, err
	}
	if err := limitMemory(c, &cfg); err != nil {
		return cfg, err
	}
	return cfg, objective(c, &cfg)
}
