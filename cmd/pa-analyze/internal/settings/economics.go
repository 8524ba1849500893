package settings

import (
	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/analyze"
)

// MostGPUs is the largest number of GPUs that flags take.
const MostGPUs = 1_000_000

// ObjectiveConfig reads the flags of Config, ObjectiveFlags and the limit of memory.
func ObjectiveConfig(c *cli.Context) (analyze.Config, error) {
	cfg, err := Config(c)
	if err != nil {
		return cfg, err
	}
	if cfg.MemoryLimit, err = MemoryLimit(c); err != nil {
		return cfg, err
	}
	return cfg, objective(c, &cfg)
}
