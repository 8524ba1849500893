package resultfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
)

// TableStatement is the summary of a tool in a CSV of tableFigures. is tells it from the CSV of other tools.
func TableStatement(definitions, dialect string, is func(content []byte) bool) Statement {
	known := func(content []byte) bool {
		return (bytes.HasPrefix(content, []byte("Metric,")) || bytes.HasPrefix(content, []byte("Statistic,"))) && is(content)
	}
	return Statement{
		Definitions: definitions, Dialect: dialect, Is: func(*Object) bool { return false },
		Sniff: func(o *Outline) bool { return known(o.Head) },
		Decode: func(content []byte, r *stated.Result) ([]*Object, bool, error) {
			if !known(content) {
				return nil, false, nil
			}
			figures, err := tableFigures(content)
			r.Levels = []stated.Level{{Figures: figures}}
			r.Notes = append(r.Notes, "the CSV names no model and no load, and rounds its figures; the JSON beside it has them")
			return nil, true, err
		},
	}
}

// tableFigures returns the figures of a CSV of NVIDIA's tools. It has sections with blank lines between, each with a header that names
// the metric's column ("Metric", "Statistic") and statistics:
//
//	Metric,avg,min,p99
//	Request Latency (ms),"1,418.58",408.64,429.01
//
//	Metric,Value
//	Request Throughput (requests/sec),9.14
//
// Other columns label a metric, such as the GPU of a power. Numbers lose the commas between their thousands.
func tableFigures(content []byte) (all []stated.Figure, err error) {
	if err := CheckTable(content); err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	var header []string
	metricAt, line := -1, 0
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		at, _ := r.FieldPos(0)
		gap := at > line+1 // the blank line before a section
		line = at
		if i := slices.IndexFunc(row, isMetricColumn); i >= 0 && (header == nil || gap) {
			header, metricAt = row, i
			continue
		}
		if header == nil || len(row) > len(header) || metricAt >= len(row) {
			return nil, fmt.Errorf("line %d: %d cells below a header of %d", at, len(row), len(header))
		}
		metric, unit := splitUnit(row[metricAt])
		var labels []string
		for i, cell := range row {
			if i != metricAt && !isStatistic(header[i]) && cell != "" {
				labels = append(labels, header[i]+" "+cell)
			}
		}
		if labels != nil {
			metric += " [" + strings.Join(labels, ", ") + "]"
		}
		from := len(all)
		for i, cell := range row {
			if i == metricAt || !isStatistic(header[i]) || cell == "" {
				continue
			}
			statistic := header[i]
			if statistic == "Value" {
				statistic = ""
			}
			all = append(all, TextFigure(metric, statistic, unit, strings.ReplaceAll(cell, ",", "")))
		}
		if len(all) == from+1 && all[from].Statistic == "avg" { // of the run as a whole
			all[from].Statistic = ""
		}
	}
}

// TextFigure returns the figure of a number in a text.
func TextFigure(metric, statistic, unit, text string) stated.Figure {
	return stated.NewFigure(metric, statistic, unit, text, number(text))
}

// isMetricColumn reports whether a header is of the column of metrics.
func isMetricColumn(name string) bool { return name == "Metric" || name == "Statistic" }

// isStatistic reports whether a header is of a column of numbers.
func isStatistic(name string) bool {
	if name == "Value" || slices.Contains(statistics, name) {
		return true
	}
	number, ok := strings.CutPrefix(name, "p")
	_, err := strconv.ParseFloat(number, 64)
	return ok && err == nil
}

// splitUnit splits "Request Latency (ms)".
func splitUnit(name string) (metric, unit string) {
	open := strings.LastIndexByte(name, '(')
	if open <= 0 || !strings.HasSuffix(name, ")") || strings.Contains(name[open:], " + ") || strings.Contains(name[open:], " conn") {
		return name, ""
	}
	return strings.TrimSpace(name[:open]), name[open+1 : len(name)-1]
}
