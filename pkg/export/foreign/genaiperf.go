package foreign

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
)

// sniffGenAIPerfReport recognizes GenAI-Perf's own report, which it writes beside
// the export: an object of statistics with units, in every release that writes one.
func sniffGenAIPerfReport(o *outline) bool {
	return !o.array && o.hasInner("unit", "avg") && (o.has("request_throughput") || o.has("request_latency"))
}

// openGenAIPerfReport refuses the report, since there are no requests in it.
func openGenAIPerfReport(f *file) (*export.Run, source, error) {
	return nil, nil, fmt.Errorf("%s: is the report of GenAI-Perf, which holds statistics and no requests; give the profile_export.json that it was made from, in the same folder", f.name)
}
