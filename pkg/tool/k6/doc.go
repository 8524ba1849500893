// Package k6 reads what k6 writes: requests from the points of --out json, and figures from summaries (--summary-export, handleSummary).
//
// k6 measures an answer as a whole. It knows no tokens.
package k6
