package resultfile

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

// SetLoad stores the load in the only level of a run, unless the level has one. It stores no value that
// is not above 0 or not finite, as a setting in YAML can be.
func SetLoad(run *export.Run, mode string, value float64) {
	if len(run.Experiments) == 1 && run.Experiments[0].Mode == "" && value > 0 && !math.IsInf(value, 0) {
		run.Experiments[0].Mode, run.Experiments[0].Value = mode, Digits(value)
	}
}

// A Summarized source has files in its folder with the tool's statistics of the requests
// and with its settings.
type Summarized interface {
	// SummaryNames returns the names of these files, given the name of the source's
	// file; nil for none.
	SummaryNames(file string) []string
	// UseSummary takes the content of such a file: Check then also compares its
	// figures. UseSummary stores the load in run. It returns an error if the
	// content cannot be used.
	UseSummary(run *export.Run, name string, content []byte) error
}

// Named reports whether the path of a file, which can be compressed, ends with this name.
func Named(path, name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst"), name)
}

// A Summary holds the content of such a file: its numbers and its texts, by their path,
// such as "request_latency.avg".
type Summary struct {
	File    string
	Figures map[string]float64
	Texts   map[string]string
	Kept    KeptLevel // unknown unless CompareKept set it
}

// ParseSummary reads the JSON object of a summary.
func ParseSummary(file string, content []byte) (*Summary, error) {
	var tree map[string]any
	if err := Decode(content, &tree); err != nil {
		return nil, fmt.Errorf("%s: is not the JSON object of a summary: %w", file, err)
	}
	if tree == nil {
		return nil, errors.New("is not the JSON object of a summary")
	}
	s := &Summary{File: file, Figures: map[string]float64{}, Texts: map[string]string{}}
	s.add("", tree)
	return s, nil
}

// add adds the numbers and texts in v, by their paths.
func (s *Summary) add(path string, v any) {
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
		s.Figures[strings.TrimPrefix(path, ".")] = v
	case string:
		s.Texts[strings.TrimPrefix(path, ".")] = v
	case bool:
		s.Texts[strings.TrimPrefix(path, ".")] = strconv.FormatBool(v)
	}
}

// Unwrap gives the members whose paths begin with prefix the rest of the path as their name.
func Unwrap[V any](members map[string]V, prefix string) {
	for name, v := range maps.Clone(members) {
		if inner, ok := strings.CutPrefix(name, prefix); ok {
			delete(members, name)
			members[inner] = v
		}
	}
}

// CompareKept counts the requests of the file with count, and compares them with the number that
// the summary states: the sum of the figures with the names of counts. rate names the figure of
// their rate. It returns the error of count.
func (s *Summary) CompareKept(run *export.Run, counts []string, rate string, count func() (int64, error)) (err error) {
	k := KeptLevel{Stated: -1, Rate: math.NaN()}
	for _, name := range counts { // tools leave out the failures if there are none
		if n, ok := s.Figures[name]; ok && n >= 0 && n < 1<<53 {
			k.Stated = max(k.Stated, 0) + int64(n)
		}
	}
	if v, ok := s.Figures[rate]; ok {
		k.Rate = v
	}
	if k.Stated < 0 {
		return nil
	}
	if k.Kept, err = count(); err != nil {
		return err
	}
	s.Kept = k
	LackRequests(run, []KeptLevel{k})
	return nil
}

// Compare compares the figures that are also in computed, in the order of their names.
func (s *Summary) Compare(c *SelfCheck, computed map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(computed)) {
		if stored, ok := s.Figures[name]; ok && !math.IsNaN(computed[name]) {
			c.Figure(name, stored, computed[name])
		}
	}
}

// Rest notes the metrics of the summary that c did not compare. Settings are no metrics.
func (s *Summary) Rest(c *SelfCheck) {
	var metrics []string
	for name := range s.Figures {
		metric := name
		if i := strings.LastIndexByte(name, '.'); i > 0 {
			metric = name[:i]
		}
		if slices.ContainsFunc([]string{"config", "schema", "input_", "run_", "telemetry", "settings"}, func(part string) bool { return strings.HasPrefix(metric, part) }) {
			continue
		}
		metrics = append(metrics, metric)
	}
	c.Rest(metrics, s.Kept.WhyRest())
}

// maxSpread bounds the values of one metric that a spread keeps for percentiles: 32 MiB.
const maxSpread = 4 << 20

// A Spread holds the values of one metric over all requests. With more than maxSpread
// values it gives only statistics that need no list: count, sum, mean and extremes.
type Spread struct {
	N        int
	Sum      stat.Sum
	min, max float64
	Values   Sample
}

// Add adds values of the metric.
func (s *Spread) Add(values ...float64) {
	for _, v := range values {
		if s.N == 0 {
			s.min, s.max = v, v
		}
		s.N++
		s.Sum.Add(v)
		s.min, s.max = min(s.min, v), max(s.max, v)
		if len(s.Values) < maxSpread {
			s.Values = append(s.Values, v)
		}
	}
}

// Figures computes the statistics of the metric that the summary in has, into computed. statistic computes those that
// need the sorted values, by their names, as [Sample.Stat] does.
func (s *Spread) Figures(computed map[string]float64, in *Summary, metric string, statistic func(sorted Sample, name string) float64) {
	if s.N == 0 {
		return
	}
	var sorted Sample
	if s.N == len(s.Values) {
		sorted = s.Values.Sorted()
	}
	for name := range in.Figures {
		figure, ok := strings.CutPrefix(name, metric+".")
		if !ok {
			continue
		}
		switch figure {
		case "count":
			computed[name] = float64(s.N)
		case "sum", "total":
			computed[name] = s.Sum.Value()
		case "avg", "mean":
			computed[name] = s.Sum.Value() / float64(s.N)
		case "min":
			computed[name] = s.min
		case "max":
			computed[name] = s.max
		default:
			if sorted != nil {
				computed[name] = statistic(sorted, figure)
			}
		}
	}
}
