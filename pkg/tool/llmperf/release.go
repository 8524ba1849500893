package llmperf

import (
	"context"
	"io"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A release is a version of llm_perf.py.
type release struct {
	// Name is the name of the dialect: "llm_perf-v1".
	Name string

	table bool // it prints a table and divides token counts by the time of the level
}

// releases holds all versions, oldest first: the script as it was on 2024-09-03 and on
// 2024-09-24.
var releases = []*release{
	{Name: "llm_perf-v1"},
	{Name: "llm_perf-v2", table: true},
}

// Tools returns the dialects of all versions.
func Tools() []*dialect.Tool {
	var all []*dialect.Tool
	for _, v := range releases {
		all = append(all, v.tool())
	}
	return all
}

// tool returns the dialect of the version.
func (v *release) tool() *dialect.Tool {
	t := &dialect.Tool{
		Name: v.Name, Family: "llm_perf", Listed: v.Name, Options: dialect.LanguageOptions(), Compared: 2,
		New: func(in dialect.Input) (dialect.Analysis, error) { return v.newAnalysis(in) },
	}
	t.Result = &dialect.ResultFile{
		Omits: "when the requests were sent, prompts, and all responses but the first and the last", Listed: v.Name,
		Write: func(ctx context.Context, r export.Reader, cfg dialect.Config, _ string, w io.Writer) (*dialect.Written, error) {
			_, written, err := dialect.WriteReport(ctx, t, r, cfg, w)
			return written, err
		},
	}
	return t
}
