package serving

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// isNone reports whether a value is Python's None, or JSON's null.
func isNone(value string) bool { return value == "None" || value == "null" || value == "" }

// optional returns a setter that sets *to to the parsed value, and to nil for None.
func optional[T any](to **T, parse func(string) (T, error)) dialect.Setter {
	return func(value string) error {
		*to = nil
		if isNone(value) {
			return nil
		}
		v, err := parse(value)
		if err == nil {
			*to = &v
		}
		return err
	}
}

func parseText(value string) (string, error) { return value, nil }

func parseBool(value string) (bool, error) {
	switch value {
	case "True", "true", "1":
		return true, nil
	case "False", "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q: give True or False", value)
}

func parseWhole(value string) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q: give a whole number of 0 or more", value)
	}
	return n, nil
}

func parseNS(value string) (uint64, error) {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: give a whole number of nanoseconds", value)
	}
	return n, nil
}

func parseFloat(value string) (float64, error) {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: give a number", value)
	}
	return f, nil
}

func parsePositive(value string) (float64, error) {
	f, err := parseFloat(value)
	if err != nil || !(f > 0) {
		return 0, fmt.Errorf("%q: give a number above 0", value)
	}
	return f, nil
}

// parsePercentiles reads "25,75.5,99".
func parsePercentiles(value string) ([]float64, error) {
	var all []float64
	for text := range strings.SplitSeq(value, ",") {
		p, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return nil, fmt.Errorf("%q: give percentiles from 0 to 100, with commas between", text)
		}
		all = append(all, p)
	}
	return all, nil
}

// parseGoodput reads "ttft:300 tpot:20.5": milliseconds.
func parseGoodput(value string) ([]dialect.Limit, error) {
	if isNone(value) {
		return nil, nil
	}
	var all []dialect.Limit
	for pair := range strings.FieldsSeq(value) {
		name, number, _ := strings.Cut(pair, ":")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, fmt.Errorf("%q: give pairs such as ttft:300, of a metric and milliseconds", pair)
		}
		all = append(all, dialect.Limit{Metric: name, Value: v})
	}
	return dialect.LastLimits(all), checkGoodput(all)
}

// checkGoodput refuses other metrics than goodputNames, and negative limits.
func checkGoodput(all []dialect.Limit) error {
	for _, l := range all {
		switch {
		case !slices.Contains(goodputNames, l.Metric):
			return fmt.Errorf("%q: objectives are of %s", l.Metric, strings.Join(goodputNames, ", "))
		case !(l.Value >= 0):
			return fmt.Errorf("%s:%v: give milliseconds of 0 or more", l.Metric, l.Value)
		}
	}
	return nil
}

// parseMetadata reads "version=1 note=a=b".
func parseMetadata(value string) ([]string, error) {
	if isNone(value) {
		return nil, nil
	}
	all := strings.Fields(value)
	for _, item := range all {
		if !strings.Contains(item, "=") {
			return nil, fmt.Errorf("%q: give pairs such as version=1, with blanks between", item)
		}
	}
	return all, nil
}

// ratio returns a/b; for b = 0, where Python raises a ZeroDivisionError, it is infinite,
// or NaN for 0/0.
func ratio(a, b float64) float64 {
	if b == 0 && a == 0 {
		return math.NaN()
	}
	return a / b
}
