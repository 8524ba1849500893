package tools

import (
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/dialect/aiperf"
	"github.com/pa-tools/pa/pkg/analyze/dialect/genaiperf"
	"github.com/pa-tools/pa/pkg/analyze/dialect/llmperf"
	"github.com/pa-tools/pa/pkg/analyze/dialect/perfanalyzer"
	"github.com/pa-tools/pa/pkg/analyze/dialect/serving"
	"github.com/pa-tools/pa/pkg/analyze/resultfile/guidellm"
	"github.com/pa-tools/pa/pkg/analyze/resultfile/infperf"
)

// All returns every dialect, in the order of help texts.
func All() *dialect.Registry {
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
