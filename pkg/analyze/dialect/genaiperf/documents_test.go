package genaiperf

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tables of GenAI-Perf's README of 24.03 and of its tutorial, whose layout is
// that of 24.04 and 24.05: what is made of their figures is laid out as they are,
// to the character. The documents have lost the blanks behind the title.
func TestDocumentedTables(t *testing.T) {
	for _, c := range []struct{ name, release, want string }{
		{"streamed", "24.03", `                                              PA LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┓
┃                Statistic ┃        avg ┃        min ┃        max ┃        p99 ┃        p90 ┃        p75 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━┩
│ Time to first token (ns) │ 11,182,408 │ 10,706,503 │ 13,875,938 │ 12,017,948 │ 11,878,155 │ 11,789,258 │
│ Inter token latency (ns) │  1,013,174 │    136,721 │  4,068,603 │  1,550,931 │  1,497,520 │  1,022,919 │
│     Request latency (ns) │ 53,280,063 │ 30,740,044 │ 59,664,925 │ 55,859,882 │ 53,987,990 │ 53,867,980 │
│         Num output token │         46 │         18 │         53 │         51 │         49 │         47 │
└──────────────────────────┴────────────┴────────────┴────────────┴────────────┴────────────┴────────────┘
Output token throughput (per sec): 859.02
Request throughput (per sec): 18.72
`},
		{"not streamed", "24.03", `                                            PA LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┓
┃            Statistic ┃        avg ┃        min ┃        max ┃        p99 ┃        p90 ┃        p75 ┃
┡━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━┩
│ Request latency (ns) │ 41,221,138 │ 17,522,610 │ 50,452,443 │ 47,291,315 │ 41,620,663 │ 41,396,763 │
│     Num output token │         16 │          4 │         17 │         16 │         16 │         16 │
└──────────────────────┴────────────┴────────────┴────────────┴────────────┴────────────┴────────────┘
Output token throughput (per sec): 384.39
Request throughput (per sec): 24.23
`},
		{"tutorial, streamed", "24.05", `                                                  LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━━━━━━┓
┃                Statistic ┃         avg ┃         min ┃         max ┃         p99 ┃         p90 ┃         p75 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━┩
│ Time to first token (ns) │  13,266,974 │  11,818,732 │  18,351,779 │  16,513,479 │  13,741,986 │  13,544,376 │
│ Inter token latency (ns) │   2,069,766 │      42,023 │  15,307,799 │   3,256,375 │   3,020,580 │   2,090,930 │
│     Request latency (ns) │ 223,532,625 │ 219,123,330 │ 241,004,192 │ 238,198,306 │ 229,676,183 │ 224,715,918 │
│         Num output token │         104 │         100 │         129 │         128 │         109 │         105 │
│          Num input token │         199 │         199 │         199 │         199 │         199 │         199 │
└──────────────────────────┴─────────────┴─────────────┴─────────────┴─────────────┴─────────────┴─────────────┘
Output token throughput (per sec): 460.42
Request throughput (per sec): 4.44
`},
		{"tutorial, not streamed", "24.05", `                                                LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━━━━━━┓
┃            Statistic ┃         avg ┃        min ┃         max ┃         p99 ┃         p90 ┃         p75 ┃
┡━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━┩
│ Request latency (ns) │ 296,990,497 │ 43,312,449 │ 332,788,242 │ 327,475,292 │ 317,392,767 │ 310,343,333 │
│     Num output token │         109 │         11 │         158 │         142 │         118 │         113 │
│      Num input token │           1 │          1 │           1 │           1 │           1 │           1 │
└──────────────────────┴─────────────┴────────────┴─────────────┴─────────────┴─────────────┴─────────────┘
Output token throughput (per sec): 366.78
Request throughput (per sec): 3.37
`},
	} {
		release, ok := Find(c.release)
		if !ok {
			t.Fatal("no such release")
		}
		rep := &Report{Release: release}
		for line := range strings.Lines(c.want) {
			rep.Metrics = append(rep.Metrics, documented(t, line)...)
		}
		// First tokens that are the whole answers are not shown.
		if rep.Metric(firstToken) == nil {
			m := *rep.Metric(requestLatency)
			m.Name = firstToken
			rep.Metrics = append(rep.Metrics, m)
		}
		var b bytes.Buffer
		if err := rep.Console(&b, 130); err != nil {
			t.Fatal(err)
		}
		title, rest, _ := strings.Cut(b.String(), "\n")
		if got := strings.TrimRight(title, " ") + "\n" + rest; got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// documented reads a line of a report; of one without figures there is none.
func documented(t *testing.T, line string) []Metric {
	t.Helper()
	number := func(s string) float64 {
		f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(s), ",", ""), 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return f
	}
	tag := func(label string) string {
		label, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(label)), " (")
		return strings.ReplaceAll(label, " ", "_")
	}
	if name, value, ok := strings.Cut(line, ": "); ok {
		return []Metric{{Name: tag(name), Single: true, Avg: number(value)}}
	}
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "│"), "│")
	if len(cells) != 1+len(consoleStats) {
		return nil
	}
	m := Metric{Name: tag(cells[0]), Avg: number(cells[1]), Min: number(cells[2]), Max: number(cells[3])}
	for i, s := range consoleStats[3:] {
		m.pct[slices.Index(percentileNames[:], s)] = number(cells[4+i])
	}
	return []Metric{m}
}
