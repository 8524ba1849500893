//go:build linux

package main

import (
	"context"
	"slices"
	"strconv"
)

const loadCPU = "CPU µs/token under load"

// mostOfChat is the limit of a figure of another endpoint ÷ the figure of chat completions.
const mostOfChat = 1.2

// leastTokens are the tokens of an answer that the section endpoints needs. The last token of an answer shares its read with
// the events that close the answer, which are more or fewer at other endpoints. It must be less than 1 % of the tokens, or the
// 99th percentile would be a last token.
const leastTokens = 200

// endpoints compares recordings of other endpoints with recordings of chat completions. Answers with the same tokens have
// other numbers of events, so the CPU time is per token.
func (s *suite) endpoints(ctx context.Context) error {
	defer func(tokens int) { s.tokens = tokens }(s.tokens)
	s.tokens = max(s.tokens, leastTokens)
	const chat = "v1/chat/completions"
	others := []string{"v1/messages"}
	columns := slices.Concat(errorColumns, []column{
		beside("p99 ÷ chat", "p99 µs", chat), middle(aloneP99, 1), beside("÷ chat", aloneP99, chat), middle("events/token", 2),
		middleOf("CPU µs/token", loadCPU, 1), beside("CPU ÷ chat", loadCPU, chat), middle(sharedReads, 1),
	})
	var rows [][]string
	for _, n := range s.streams {
		var all []candidate
		for _, endpoint := range append([]string{chat}, others...) {
			all = append(all, s.recorder(endpoint, job{service: "openai", endpoint: endpoint, transport: loop, streams: n, judge: true}))
		}
		m, err := s.measure(ctx, all...)
		if err != nil {
			return err
		}
		rows = append(rows, m.rows(columns, []string{strconv.Itoa(n)}, append([]string{chat}, others...)...)...)
		for _, endpoint := range others {
			for _, figure := range []string{"p99 µs", loadCPU} {
				s.hold(strconv.Itoa(n)+" streams: "+figure+" of "+endpoint+" ÷ chat", m.ratio(endpoint, chat, figure), mostOfChat)
			}
		}
	}
	s.table("Endpoints: "+loop+", a token every "+gap.String(), []string{"streams", "endpoint"}, columns, rows)
	return nil
}
