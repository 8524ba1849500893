package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
)

// Each cell of the CSV with a number of a level is a figure with the same digits, and there are no others.
func TestFigures(t *testing.T) {
	for _, in := range []Input{full(), analyzed(t, golden.FS(t, "perf_analyzer"), "2.60.0/vllm_sweep")} {
		var out bytes.Buffer
		if err := CSV([]Input{in})(&out); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{} // by name and digits
		for _, row := range rows[1:] {
			if row[1] == "" || row[21] != "" { // the highest load, and windows
				continue
			}
			for _, cell := range row[6:21] {
				if cell != "" {
					want[strings.Join([]string{row[1], row[4], row[5], cell, row[24]}, " ")]++
				}
			}
		}
		for i := range in.Report.Experiments {
			for _, f := range Figures(&in.Report.Experiments[i]) {
				if f.Text != "" {
					want[strings.Join([]string{string(rune('0' + i)), f.Name, f.Unit, f.Text, f.Model}, " ")]--
				}
			}
		}
		for name, n := range want {
			if n != 0 {
				t.Errorf("%s: %q: %d more in the CSV than figures", in.Name, name, n)
			}
		}
		if len(want) < 50 {
			t.Errorf("%s: %d numbers", in.Name, len(want))
		}
	}
}

// A line without numbers is a figure without a value; a number alone has no statistic.
func TestFiguresOfLines(t *testing.T) {
	for _, tt := range []struct {
		line csvLine
		want string
	}{
		{csvLine{name: "a"}, "a:="},
		{csvLine{name: "a", n: "3"}, "a:=3"},
		{csvLine{name: "a", mean: "2.5"}, "a:=2.5"},
		{csvLine{name: "a", n: "3", mean: "2.5"}, "a:=2.5 a:n=3"},
		{csvLine{name: "a", n: "3", mean: "2.5", min: "1", max: "4"}, "a:n=3 a:mean=2.5 a:min=1 a:max=4"},
	} {
		var got []string
		for _, f := range tt.line.figures() {
			got = append(got, f.Name+":"+f.Statistic+"="+f.Text)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: %v, want %s", tt.line, got, tt.want)
		}
	}
}
