package foreign

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// setLoad stores the load in the only level of a run, unless the level has one. It stores no value that
// is not above 0 or not finite, as a setting in YAML can be.
func setLoad(run *export.Run, mode string, value float64) {
	if len(run.Experiments) == 1 && run.Experiments[0].Mode == "" && value > 0 && !math.IsInf(value, 0) {
		run.Experiments[0].Mode, run.Experiments[0].Value = mode, digits(value)
	}
}

// A summarized source has files in its folder with the tool's statistics of the requests
// and with its settings.
type summarized interface {
	// summaryNames returns the names of these files, given the name of the source's
	// file; nil for none.
	summaryNames(file string) []string
	// useSummary takes the content of such a file: check then also compares its
	// figures. useSummary stores the load in run. It returns an error if the
	// content cannot be used.
	useSummary(run *export.Run, name string, content []byte) error
}

// named reports whether the path of a file, which can be compressed, ends with this name.
func named(path, name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst"), name)
}

// A summary holds the content of such a file: its numbers and its texts, by their path,
// such as "request_latency.avg".
type summary struct {
	file    string
	figures map[string]float64
	texts   map[string]string
	kept    keptLevel // unknown unless compareKept set it
}

func parseSummary(file string, content []byte) (*summary, error) {
	var tree map[string]any
	if err := decode(content, &tree); err != nil {
		return nil, fmt.Errorf("%s: is not the JSON object of a summary: %w", file, err)
	}
	if tree == nil {
		return nil, errors.New("is not the JSON object of a summary")
	}
	s := &summary{file: file, figures: map[string]float64{}, texts: map[string]string{}}
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

// unwrap gives the members whose paths begin with prefix the rest of the path as their name.
func unwrap[V any](members map[string]V, prefix string) {
	for name, v := range maps.Clone(members) {
		if inner, ok := strings.CutPrefix(name, prefix); ok {
			delete(members, name)
			members[inner] = v
		}
	}
}

// compareKept counts the requests of the file with count, and compares them with the number that
// the summary states: the sum of the figures with the names of counts. rate names the figure of
// their rate. It returns the error of count.
func (s *summary) compareKept(run *export.Run, counts []string, rate string, count func() (int64, error)) (err error) {
	k := keptLevel{stated: -1, rate: math.NaN()}
	for _, name := range counts { // tools leave out the failures if there are none
		if n, ok := s.figures[name]; ok && n >= 0 && n < 1<<53 {
			k.stated = max(k.stated, 0) + int64(n)
		}
	}
	if v, ok := s.figures[rate]; ok {
		k.rate = v
	}
	if k.stated < 0 {
		return nil
	}
	if k.kept, err = count(); err != nil {
		return err
	}
	s.kept = k
	lackRequests(run, []keptLevel{k})
	return nil
}

// compare compares the figures that are also in computed, in the order of their names.
func (s *summary) compare(c *selfCheck, computed map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(computed)) {
		if stored, ok := s.figures[name]; ok && !math.IsNaN(computed[name]) {
			c.figure(name, stored, computed[name])
		}
	}
}

// rest notes the metrics of the summary that c did not compare. Settings are no metrics.
func (s *summary) rest(c *selfCheck) {
	var metrics []string
	for name := range s.figures {
		metric := name
		if i := strings.LastIndexByte(name, '.'); i > 0 {
			metric = name[:i]
		}
		if slices.ContainsFunc([]string{"config", "schema", "input_", "run_", "telemetry", "settings"}, func(part string) bool { return strings.HasPrefix(metric, part) }) {
			continue
		}
		metrics = append(metrics, metric)
	}
	c.rest(metrics, s.kept.whyRest())
}

// maxSpread bounds the values of one metric that a spread keeps for percentiles: 32 MiB.
const maxSpread = 4 << 20

// A spread holds the values of one metric over all requests. With more than maxSpread
// values it gives only statistics that need no list: count, sum, mean and extremes.
type spread struct {
	n        int
	sum      stat.Sum
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

// figures computes the statistics of the metric that the summary in has, into computed.
func (s *spread) figures(computed map[string]float64, in *summary, metric string) {
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
			computed[name] = float64(s.n)
		case "sum", "total":
			computed[name] = s.sum.Value()
		case "avg", "mean":
			computed[name] = s.sum.Value() / float64(s.n)
		case "min":
			computed[name] = s.min
		case "max":
			computed[name] = s.max
		default:
			if sorted != nil {
				computed[name] = sorted.stat(stat)
			}
		}
	}
}
