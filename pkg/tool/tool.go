package tool

import (
	"os"
	"slices"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/aiperf"
	"github.com/pa-tools/pa/pkg/tool/aisbench"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/endpoints"
	"github.com/pa-tools/pa/pkg/tool/evalscope"
	"github.com/pa-tools/pa/pkg/tool/genaibench"
	"github.com/pa-tools/pa/pkg/tool/genaiperf"
	"github.com/pa-tools/pa/pkg/tool/guidellm"
	"github.com/pa-tools/pa/pkg/tool/hfbench"
	"github.com/pa-tools/pa/pkg/tool/inferencex"
	"github.com/pa-tools/pa/pkg/tool/infperf"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
	"github.com/pa-tools/pa/pkg/tool/k6"
	"github.com/pa-tools/pa/pkg/tool/llmperf"
	"github.com/pa-tools/pa/pkg/tool/locust"
	"github.com/pa-tools/pa/pkg/tool/perfanalyzer"
	"github.com/pa-tools/pa/pkg/tool/rayllmperf"
	"github.com/pa-tools/pa/pkg/tool/serving"
	"github.com/pa-tools/pa/pkg/tool/trtllmbench"
)

// Dialects returns every dialect, in the order of help texts.
func Dialects() *dialect.Registry {
	return dialect.NewRegistry(slices.Concat(
		perfanalyzer.Tools(),
		genaiperf.Tools(),
		serving.Tools(),
		llmperf.Tools(),
		aiperf.Tools(),
		guidellm.Tools(),
		infperf.Tools(),
	)...)
}

// kinds returns the kinds of the tools' result files.
func kinds() []resultfile.Kind {
	return []resultfile.Kind{
		aiperf.ResultFile(),
		genaiperf.ResultFile(),
		guidellm.ResultFile(),
		infperf.ResultFile(),
		endpoints.ResultFile(),
		serving.ResultFile(),
		llmperf.ResultFile(),
		inferencex.ResultFile(),
		trtllmbench.ResultFile(),
		rayllmperf.ResultFile(),
		genaibench.ResultFile(),
		locust.ResultFile(),
		k6.ResultFile(),
		hfbench.ResultFile(),
		evalscope.ResultFile(),
		aisbench.ResultFile(),
	}
}

// Formats returns the formats of the tools' result files that hold requests, for [export.Opener]. Their
// content tells which one a file is. The error of a file that holds figures only is a [*stated.Error].
func Formats() []export.Format { return resultfile.Formats(kinds()...) }

// Stated returns the figures of a result file; nil if it states none that are known. name names the file.
func Stated(name string, content []byte) (*stated.Result, error) {
	return resultfile.Stated(name, content, kinds()...)
}

// StatedFile returns the figures that a file states, also beside its requests; nil if it states none that are known, or is too large.
func StatedFile(path string) (*stated.Result, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > resultfile.MaxStatedBytes {
		return nil, disk.Unreadable(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, disk.Unreadable(err)
	}
	return Stated(path, content)
}
