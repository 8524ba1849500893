package foreign

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/quantile"
	"github.com/pa-tools/pa/pkg/export"
)

// setLoad puts the load into the only level of a run that does not say it.
func setLoad(run *export.Run, mode string, value float64) {
	if len(run.Experiments) == 1 && run.Experiments[0].Mode == "" && value > 0 {
		run.Experiments[0].Mode, run.Experiments[0].Value = mode, digits(value)
	}
}

// A summarized source has files in its folder with the tool's statistics of the requests
// and with its settings.
type summarized interface {
	// summaryNames returns the names of those files, given the source's; nil for
	// none.
	summaryNames(file string) []string
	// useSummary takes the content of one of them. It has check compare its
	// figures, and puts the load into run. The error says why that cannot be.
	useSummary(run *export.Run, name string, content []byte) error
}

// A summary is such a file: its numbers by where they stand in it, such as
// "request_latency.avg", and its texts.
type summary struct {
	file    string
	figures map[string]float64
	texts   map[string]string
}

func parseSummary(file string, content []byte) (*summary, error) {
	var tree map[string]any
	if err := decode(content, &tree); err != nil {
		return nil, fmt.Errorf("%s: is not the JSON object of a summary: %w", file, err)
	}
	if tree == nil {
		return nil, errors.New("is not the JSON object of a summary")
	}
	s := &summary{file, map[string]float64{}, map[string]string{}}
	s.add("", tree)
	return s, nil
}

func (s *summary) add(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			s.add(path+"."+name, member)
		}
	case []any:
		for i, element := range v {
			s.add(path+"."+strconv.Itoa(i), element)
		}
	case float64:
		s.figures[strings.TrimPrefix(path, ".")] = v
	case string:
		s.texts[strings.TrimPrefix(path, ".")] = v
	case bool:
		s.texts[strings.TrimPrefix(path, ".")] = strconv.FormatBool(v)
	}
}

// compare compares the figures that made has something for, in the order of
// their names.
func (s *summary) compare(c *selfCheck, made map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if stored, ok := s.figures[name]; ok && !math.IsNaN(made[name]) {
			c.figure(name, stored, made[name])
		}
	}
}

// maxSpread bounds the values of one metric that are kept to compare its
// percentiles: 32 MiB of them.
const maxSpread = 4 << 20

// A spread is the values of one metric over all requests. Beyond maxSpread only
// what needs no list of them is known.
type spread struct {
	n        int
	sum      quantile.Sum
	min, max float64
	values   sample
}

func (s *spread) add(values ...float64) {
	for _, v := range values {
		if s.n == 0 {
			s.min, s.max = v, v
		}
		s.n++
		s.sum.Add(v)
		s.min, s.max = min(s.min, v), max(s.max, v)
		if len(s.values) < maxSpread {
			s.values = append(s.values, v)
		}
	}
}

// figures puts the statistics that the summary has of the metric into made.
func (s *spread) figures(made map[string]float64, in *summary, metric string) {
	if s.n == 0 {
		return
	}
	var sorted sample
	if s.n == len(s.values) {
		sorted = s.values.sorted()
	}
	for name := range in.figures {
		stat, ok := strings.CutPrefix(name, metric+".")
		if !ok {
			continue
		}
		switch stat {
		case "count":
			made[name] = float64(s.n)
		case "sum", "total":
			made[name] = s.sum.Value()
		case "avg", "mean":
			made[name] = s.sum.Value() / float64(s.n)
		case "min":
			made[name] = s.min
		case "max":
			made[name] = s.max
		default:
			if sorted != nil {
				made[name] = sorted.stat(stat)
			}
		}
	}
}
