package genaiperf

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// threeChats is an export of three chats (vector V1), n ms after each other's
// start: a role alone one ms before the first word, then a word every few ms, and
// [DONE] one ms after what would be the next but one.
func threeChats() string {
	const ms, base = 1_000_000, 1712345678901234567
	chat := func(at, first, gap, words int) request {
		q := request{at: at, input: chatPayload(`"a b c"`), times: []int{at + (first-1)*ms}, outputs: []string{delta(`{"role":"assistant","content":""}`)}}
		for i := range words {
			q.times = append(q.times, at+(first+i*gap)*ms)
			q.outputs = append(q.outputs, content(strings.Repeat(" ", min(i, 1))+fmt.Sprintf("w%d", i)))
		}
		q.times = append(q.times, at+(first+words*gap)*ms)
		q.outputs = append(q.outputs, "data: [DONE]\n\n")
		return q
	}
	return vector("openai", "v1/chat/completions", concurrency10, "response",
		chat(base, 20, 2, 5), chat(base+100*ms, 30, 3, 11), chat(base+200*ms, 15, 2, 8))
}

// Vector V1: the same export by three releases, where every word is a token.
func TestReleasesDiffer(t *testing.T) {
	report := func(release string) *report {
		r := find(release)
		rep, err := reportOf(r, runtest.Open(t, []byte(threeChats())), dialect.Config{
			Tokenizer: words{}, Streaming: new(true), Goodput: []dialect.Limit{{Metric: requestLatency, Value: 50}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	for release, want := range map[string]string{
		"24.03": `Statistic,avg,min,max,p99,p95,p90,p75,p50,p25
time_to_first_token(ns),20666667,14000000,29000000,28800000,28000000,27000000,24000000,19000000,16500000
inter_token_latency(ns),2291667,1000000,3000000,3000000,3000000,3000000,3000000,2000000,2000000
request_latency(ns),39000000,28000000,60000000,59380000,56900000,53800000,44500000,29000000,28500000
num_output_token,8,5,11,11,11,10,10,8,6
output_token_throughput(per sec),104.80
request_throughput(per sec),13.10
`,
		"24.04": `Metric,avg,min,max,p99,p95,p90,p75,p50,p25
Time To First Token (ns),21666667,15000000,30000000,29800000,29000000,28000000,25000000,20000000,17500000
Inter Token Latency (ns),2476190,2000000,3000000,3000000,3000000,3000000,3000000,2000000,2000000
Request Latency (ns),39000000,28000000,60000000,59380000,56900000,53800000,44500000,29000000,28500000
Num Output Token,8,5,11,11,11,10,10,8,6
Num Input Token,3,3,3,3,3,3,3,3,3

Metric,Value
Output Token Throughput (per sec),104.80
Request Throughput (per sec),13.10
`,
		"main": `Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1
Time To First Token (ms),21.67,15.00,30.00,29.80,29.00,28.00,25.00,20.00,17.50,16.00,15.50,15.10
Time To Second Token (ms),2.33,2.00,3.00,2.98,2.90,2.80,2.50,2.00,2.00,2.00,2.00,2.00
Request Latency (ms),39.00,28.00,60.00,59.38,56.90,53.80,44.50,29.00,28.50,28.20,28.10,28.02
Inter Token Latency (ms),2.33,2.00,3.00,2.98,2.90,2.80,2.50,2.00,2.00,2.00,2.00,2.00
Output Token Throughput Per User (tokens/sec/user),444.44,333.33,500.00,500.00,500.00,500.00,500.00,500.00,416.67,366.67,350.00,336.67
Output Sequence Length (tokens),8.00,5.00,11.00,10.94,10.70,10.40,9.50,8.00,6.50,5.60,5.30,5.06
Input Sequence Length (tokens),3.00,3.00,3.00,3.00,3.00,3.00,3.00,3.00,3.00,3.00,3.00,3.00

Metric,Value
Output Token Throughput (tokens/sec),104.80
Request Throughput (per sec),13.10
Request Goodput (per sec),8.73
Request Count (count),3.00
`,
	} {
		var b bytes.Buffer
		if err := report(release).CSV(&b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, strings.ReplaceAll(b.String(), "\r\n", "\n")); d != "" {
			t.Errorf("%s: -want +got\n%s", release, d)
		}
	}
	var b bytes.Buffer
	if err := report("main").JSON(&b); err != nil {
		t.Fatal(err)
	}
	all, err := py.ParseJSON(b.String(), py.JSON)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ metric, stat, want string }{
		{requestRate, "avg", "13.100436681222707"},
		{requestGood, "avg", "8.73362445414847"},
		{requestLatency, "std", "14.854853303438126"},
		{interToken, "std", "0.4714045207910316"},
		{tokenRate, "avg", "104.80349344978166"},
		{tokensPerUser, "p1", "336.66666666666663"},
	} {
		m, _ := all.Member(tt.metric)
		if v, _ := m.Member(tt.stat); v.Raw() != tt.want {
			t.Errorf("%s of %s: %s, want %s", tt.stat, tt.metric, v.Raw(), tt.want)
		}
	}
}

// The CSV report of these values, as GenAI-Perf's own tests print it, in ms and per second.
func TestCSVOfValues(t *testing.T) {
	const streamed = `Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1
Time To First Token (ms),8.00,7.00,9.00,8.98,8.90,8.80,8.50,8.00,7.50,7.20,7.10,7.02
Time To Second Token (ms),2.00,1.00,3.00,2.98,2.90,2.80,2.50,2.00,1.50,1.20,1.10,1.02
Request Latency (ms),5.00,4.00,6.00,5.98,5.90,5.80,5.50,5.00,4.50,4.20,4.10,4.02
Inter Token Latency (ms),11.00,10.00,12.00,11.98,11.90,11.80,11.50,11.00,10.50,10.20,10.10,10.02
Output Token Throughput Per User (tokens/sec/user),5.00,4.00,6.00,5.98,5.90,5.80,5.50,5.00,4.50,4.20,4.10,4.02
Output Sequence Length (tokens),2.00,1.00,3.00,2.98,2.90,2.80,2.50,2.00,1.50,1.20,1.10,1.02
Input Sequence Length (tokens),6.00,5.00,7.00,6.98,6.90,6.80,6.50,6.00,5.50,5.20,5.10,5.02

Metric,Value
Output Token Throughput (tokens/sec),456.00
Request Throughput (per sec),123.00
Request Count (count),3.00
`
	const whole = `Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1
Request Latency (ms),5.00,4.00,6.00,5.98,5.90,5.80,5.50,5.00,4.50,4.20,4.10,4.02
Output Sequence Length (tokens),2.00,1.00,3.00,2.98,2.90,2.80,2.50,2.00,1.50,1.20,1.10,1.02
Input Sequence Length (tokens),6.00,5.00,7.00,6.98,6.90,6.80,6.50,6.00,5.50,5.20,5.10,5.02

Metric,Value
Output Token Throughput (tokens/sec),456.00
Request Throughput (per sec),123.00
Request Count (count),3.00
`
	good := func(v string) string {
		return strings.Replace(streamed, "Request Count", "Request Goodput (per sec),"+v+"\nRequest Count", 1)
	}
	ms := func(x ...int64) []int64 {
		for i := range x {
			x[i] *= 1e6
		}
		return x
	}
	release := find("main")
	for _, tt := range []struct {
		name      string
		streaming bool
		goodput   []float64
		want      string
	}{
		{"streamed", true, nil, streamed},
		{"not streamed", false, nil, whole},
		{"goodput", true, []float64{100}, good("100.00")},
		{"goodput of an unknown metric", true, []float64{-1}, good("-1.00")},
	} {
		c := collected(func(c *collector) {
			c.latency.Add(ms(4, 5, 6)...)
			c.first.Add(ms(7, 8, 9)...)
			c.second.Add(ms(1, 2, 3)...)
			c.inter.Add(ms(10, 11, 12)...)
			addFloats(c.rate, 4, 5, 6)
			c.output.Add(1, 2, 3)
			c.input.Add(5, 6, 7)
			c.requestRates, c.tokenRates, c.goodput = []float64{123}, []float64{456}, tt.goodput
		})
		rep := &report{release: release, Streaming: tt.streaming, Metrics: c.metrics(&release.rules), goodput: tt.goodput != nil}
		var b bytes.Buffer
		if err := rep.CSV(&b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, strings.ReplaceAll(b.String(), "\r\n", "\n")); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
	}
}
