package docs

import (
	"slices"
	"strings"
	"testing"
)

// The figures of README.md beside other clients are the figures of docs/benchmarks.md at 512 streams.
func TestFrontPageFigures(t *testing.T) {
	columns := []string{"token p50 µs", "p99 µs", "gap p99 µs", "CPU µs/token", "peak PSS MB"}
	var at []int
	measured := map[string][]string{}
	for _, row := range tableRows(read(t, "docs/benchmarks.md")) {
		if row[0] == "streams" && slices.Contains(row, columns[0]) {
			at = nil
			for _, name := range columns {
				at = append(at, slices.Index(row, name))
			}
			if slices.Contains(at, -1) {
				t.Fatalf("docs/benchmarks.md: the table of clients has the columns %q, want %q among them", row, columns)
			}
		}
		if row[0] == "512" && len(row) > 1 && at != nil && len(row) > slices.Max(at) {
			client := strings.TrimSuffix(row[1], ", loop")
			for _, i := range at {
				measured[client] = append(measured[client], row[i])
			}
		}
	}
	found := 0
	for _, row := range tableRows(read(t, "README.md")) {
		if want := measured[row[0]]; want != nil {
			found++
			if !slices.Equal(row[1:], want) {
				t.Errorf("README.md: figures of %s: %q; docs/benchmarks.md has %q", row[0], row[1:], want)
			}
		}
	}
	if found != 3 {
		t.Errorf("README.md has %d clients of the %d in docs/benchmarks.md, want 3", found, len(measured))
	}
}

// tableRows returns the cells of all rows of the tables of a page.
func tableRows(text string) [][]string {
	var all [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || len(line) < 4 {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	return all
}
