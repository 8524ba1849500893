package cmdline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"gopkg.in/yaml.v3"

	"github.com/pa-tools/pa/internal/disk"
)

// ConfigFlag is the flag that [App] reads a configuration file from, for
// commands that want one.
func ConfigFlag(category string) cli.Flag {
	return Reads(&cli.StringFlag{Name: "config", Usage: "read flags from a YAML `FILE` (keys are flag names; the command line and the environment win)", Category: category}, nil)
}

// maxConfigBytes bounds a configuration file.
const maxConfigBytes = 1 << 20

// setFromConfig sets the flags that the file of --config names and that are not set yet. Unknown
// keys are errors.
func setFromConfig(c *cli.Context, flags []cli.Flag) error {
	if c.String("config") == "" || lookup(flags, "config") == nil {
		return nil
	}
	path := c.String("config")
	text, err := disk.ReadFile(c.Context, path, maxConfigBytes)
	if err != nil {
		return Usagef("--config: %v", err)
	}
	var doc map[string]yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	if err := documents.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return Usagef("--config: %s: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	var second yaml.Node
	if err := documents.Decode(&second); !errors.Is(err, io.EOF) {
		return Usagef("--config: %s: holds a second YAML document; put all flags into one", path)
	}
	for _, k := range slices.Sorted(maps.Keys(doc)) {
		node := doc[k]
		f := lookup(flags, k)
		if f == nil || k == "config" {
			return Usagef("--config: %s:%d: unknown key %q; %s", path, node.Line, k, meantKey(k, flags))
		}
		if c.IsSet(k) {
			continue
		}
		values, err := scalars(&node)
		if err != nil {
			return Usagef("--config: %s:%d: %s: %v", path, node.Line, k, err)
		}
		for _, v := range values {
			if err := set(c, f, v, fmt.Sprintf("--config: %s:%d: %s", path, node.Line, k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// meantKey returns the advice for an unknown key of a configuration: the keys that
// may be meant.
func meantKey(key string, flags []cli.Flag) string {
	if likely := NearestFlags(key, allNames(flags)); len(likely) > 0 {
		return "did you mean " + OneOf(likely) + "?"
	}
	return "keys are the long names of flags"
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
