//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
)

// Names of the ratios that have a limit.
const (
	reportToUnmarshal       = "CPU of report ÷ json.Unmarshal"
	reportToReader          = "CPU of report ÷ profilejson.Reader"
	reportToUnmarshalMemory = "peak memory of report ÷ json.Unmarshal"
	definitionsToReport     = "CPU of definitions ÷ report"
	genAIPerfToReport       = "CPU of report --dialect genai-perf-main ÷ report"
	convertToReport         = "CPU of convert to Parquet ÷ report"
	parquetToReport         = "CPU of report from Parquet ÷ from JSON"
	parquetToJSONSize       = "size of Parquet ÷ JSON"
	groupsToReport          = "CPU of report with all groups of metrics ÷ report"
	groupsOneToReport       = "CPU of report with all groups ÷ report, from Parquet, a token an event"
	groupsSeveralToReport   = "CPU of report with all groups ÷ report, from Parquet, several tokens an event"
	groupsCountedToReport   = "CPU of report with all groups ÷ report, from Parquet, several counted tokens an event"
	shardsToMergedCPU       = "CPU per byte of report from shards ÷ merged"
	shardsToMergedMemory    = "peak memory of report from shards ÷ merged"
	mergeToMergedCPU        = "CPU per byte of merge ÷ report from merged"
	mergeToMergedMemory     = "peak memory of merge ÷ report from merged"
)

// limits are the limits that make bench checks with CHECK=1. The comment beside each limit
// is the ratio measured with a file of 1,000 requests of 100 responses on two cores, or with 64
// shards of 400 requests. Each limit is at least twice that ratio, for other machines and
// because figures of a small file vary more. The memory of a merge and reports with groups vary less. So a ratio above
// its limit means that the program became slower or larger.
var limits = []limit{
	{"analysis", reportToUnmarshal, 0.8},       // 0.34
	{"analysis", reportToReader, 3.5},          // 1.5
	{"analysis", reportToUnmarshalMemory, 1.2}, // 0.44
	{"analysis", groupsToReport, 2},            // 1.1
	{"definitions", definitionsToReport, 25},   // 10.7
	{"definitions", genAIPerfToReport, 3},      // 1.25
	{"columnar", convertToReport, 7},           // 2.6
	{"columnar", parquetToReport, 1.5},         // 0.51; 0.30 with 10,000 requests
	{"columnar", parquetToJSONSize, 0.12},      // 0.05
	{"columnar", groupsOneToReport, 2},         // 1.15 with 20,000 requests
	{"columnar", groupsSeveralToReport, 2},     // 1.31; 3.0 when times per token were sorted
	{"columnar", groupsCountedToReport, 2},     // 1.31; 4.1 when times per token were sorted
	{"shards", shardsToMergedCPU, 3},           // 1.4; 1.0 with 10,000 requests a shard
	{"shards", shardsToMergedMemory, 2.2},      // 1.1; 1.0 with 10,000
	{"shards", mergeToMergedCPU, 36},           // 18
	{"shards", mergeToMergedMemory, 4},         // 2.4 to 2.7; 1.1 with 10,000; 4.6 when each column kept buffers of its own
}

// A limit is the most that a ratio of a section may be. Ratios of two processes in the
// same run hold on every machine; times do not, so none has a limit.
type limit struct {
	section, ratio string
	most           float64
}

// checkLimits returns an error for each limit of the sections whose ratio is above it or was
// not measured.
func checkLimits(limits []limit, sections []string, ratios map[string]float64) error {
	var errs []error
	checked := 0
	for _, l := range limits {
		if !slices.Contains(sections, l.section) {
			continue
		}
		checked++
		switch got, ok := ratios[l.ratio]; {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: %s was not measured", l.section, l.ratio))
		case !(got <= l.most): // NaN is none
			errs = append(errs, fmt.Errorf("%s: %s is %.2f; the limit is %.2f", l.section, l.ratio, got, l.most))
		}
	}
	if checked == 0 {
		return errors.New("no section has a limit to check; drop -check or add one of them")
	}
	return errors.Join(errs...)
}
