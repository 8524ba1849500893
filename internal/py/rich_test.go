package py

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// The renderings were drawn by the library itself, release 15.0.0; releases
// 13.7.0, 13.9.4 and 14.1.0 draw the same.
func TestAgainstRich(t *testing.T) {
	b, err := os.ReadFile("testdata/rich-15.0.0.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Tables []struct {
			Title   string
			Columns []struct {
				Header string
				NoWrap bool `json:"no_wrap"`
			}
			Rows    [][]string
			Renders map[string]string // by width
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	for i, g := range golden.Tables {
		table := RichTable{Title: g.Title, Rows: g.Rows}
		for _, c := range g.Columns {
			table.Columns = append(table.Columns, RichColumn{Header: c.Header, NoWrap: c.NoWrap})
		}
		if len(g.Renders) < 20 {
			t.Errorf("table %d has %d renderings only", i, len(g.Renders))
		}
		for width, want := range g.Renders {
			n, err := strconv.Atoi(width)
			if err != nil {
				t.Fatal(err)
			}
			if got := table.Render(n); got != want {
				t.Errorf("table %d, %d wide:\n%swant\n%s", i, n, got, want)
			}
		}
	}
}

func TestWithoutColumns(t *testing.T) {
	if got := (&RichTable{Title: "x"}).Render(80); got != "\n" {
		t.Errorf("Render = %q, want an empty line", got)
	}
}

// No line is wider than the console, whatever is in the table.
func FuzzRender(f *testing.F) {
	f.Add("NVIDIA GenAI-Perf | LLM Metrics", "Output Token Throughput Per User\n(tokens/sec/user)", "1,234.50", 100)
	f.Add("", "", "\n", 3)
	f.Add("a  b", " x \t y", "\xff", 0)
	f.Fuzz(func(t *testing.T, title, name, value string, width int) {
		if width < 0 || width > 300 {
			return
		}
		table := RichTable{Title: title, Columns: []RichColumn{{Header: "Statistic", NoWrap: true}, {Header: "avg"}}, Rows: [][]string{{name, value}, {value, name}}}
		out := table.Render(width)
		if strings.ContainsAny(title+name+value, "\n\r\v\f\u0085\u2028\u2029") { // in cells lines of their own
			return
		}
		for _, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
			if n := utf8.RuneCountInString(l); n > width {
				t.Errorf("a line of %d characters on a console of %d: %q", n, width, l)
			}
		}
	})
}

func BenchmarkRender(b *testing.B) {
	table := RichTable{Title: "LLM Metrics", Columns: []RichColumn{{Header: "Statistic", NoWrap: true}}}
	row := []string{"Time to first token (ns)"}
	for _, h := range []string{"avg", "min", "max", "p99", "p90", "p75"} {
		table.Columns = append(table.Columns, RichColumn{Header: h})
		row = append(row, "147,794,519")
	}
	table.Rows = [][]string{row, row, row, row}
	b.ReportAllocs()
	for b.Loop() {
		table.Render(100)
	}
}
