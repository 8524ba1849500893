package cmdline

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"gopkg.in/yaml.v3"
)

// flagsFirst moves flags before positional arguments, because the flag parser
// stops at the first positional one and would ignore the rest in silence.
// Everything behind "--" stays where it is. unsupported is that of [App].
func flagsFirst(args []string, flags []cli.Flag, unsupported map[string]string) ([]string, error) {
	var front, rest []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		f := lookup(flags, name)
		if f == nil && !isHelpOrVersion(arg) {
			if instead, ok := unsupported[name]; ok {
				return nil, Usagef("flag %s is not supported: %s", dashed(name), instead)
			}
			return nil, unknownFlag(name, flags)
		}
		front = append(front, arg)
		if f != nil && takesValue(f) && !hasValue {
			if i+1 == len(args) {
				return nil, Usagef("flag %s needs a value", dashed(name))
			}
			i++
			front = append(front, args[i])
		}
	}
	if len(rest) > 0 {
		front = append(append(front, "--"), rest...)
	}
	return front, nil
}

// unknownFlag names the flag and the known one that looks most like it.
func unknownFlag(name string, flags []cli.Flag) error {
	for _, f := range flags {
		for _, n := range f.Names() {
			if len(name) > 2 && len(n) > 2 && (strings.HasPrefix(n, name) || strings.HasPrefix(name, n)) {
				return Usagef("unknown flag %s; did you mean --%s?", dashed(name), n)
			}
		}
	}
	return Usagef("unknown flag %s", dashed(name))
}

func lookup(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// bindEnv gives each flag its environment variable: PA_MEASUREMENT_INTERVAL for
// --measurement-interval.
func bindEnv(flags []cli.Flag, prefix string) {
	for _, f := range flags {
		env := []string{envName(prefix, f)}
		switch f := f.(type) {
		case *cli.StringFlag:
			f.EnvVars = env
		case *cli.StringSliceFlag:
			f.EnvVars = env
		case *cli.BoolFlag:
			f.EnvVars = env
		case *cli.IntFlag:
			f.EnvVars = env
		case *cli.Int64Flag:
			f.EnvVars = env
		case *cli.Uint64Flag:
			f.EnvVars = env
		case *cli.Float64Flag:
			f.EnvVars = env
		case *cli.DurationFlag:
			f.EnvVars = env
		default:
			panic(fmt.Sprintf("cmdline: flag %s has the unknown type %T", f.Names()[0], f))
		}
	}
}

func envName(prefix string, f cli.Flag) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(f.Names()[0], "-", "_"))
}

// ConfigFlag is the flag that [App] reads a configuration file from, for
// commands that want one.
func ConfigFlag(category string) cli.Flag {
	return &cli.StringFlag{Name: "config", Usage: "read flags from a YAML `FILE` (keys are flag names; the command line and the environment win)", Category: category}
}

// applyConfig sets the flags that the file of --config names and neither the
// command line nor the environment has set. Unknown keys are errors.
func applyConfig(c *cli.Context) error {
	if lookup(c.App.Flags, "config") == nil || c.String("config") == "" {
		return nil
	}
	path := c.String("config")
	text, err := os.ReadFile(path)
	if err != nil {
		return Usagef("--config: %v", err)
	}
	var doc map[string]yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return Usagef("--config: %s: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	keys := make([]string, 0, len(doc))
	for k := range doc {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		node := doc[k]
		f := lookup(c.App.Flags, k)
		if f == nil || k == "config" {
			return Usagef("--config: %s:%d: unknown key %q; keys are the long names of flags", path, node.Line, k)
		}
		if c.IsSet(k) {
			continue
		}
		values, err := scalars(&node)
		if err != nil {
			return Usagef("--config: %s:%d: %s: %v", path, node.Line, k, err)
		}
		for _, v := range values {
			if err := c.Set(f.Names()[0], v); err != nil {
				return Usagef("--config: %s:%d: %s: %q is not a valid value (%v)", path, node.Line, k, v, err)
			}
		}
	}
	return nil
}

// scalars returns the value of a node, or the values of a list.
func scalars(n *yaml.Node) ([]string, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return []string{n.Value}, nil
	case yaml.SequenceNode:
		var all []string
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("expected a list of plain values")
			}
			all = append(all, e.Value)
		}
		return all, nil
	}
	return nil, fmt.Errorf("expected a value or a list of values")
}
