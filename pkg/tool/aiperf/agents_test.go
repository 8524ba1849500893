package aiperf

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Records of sub-agents belong to the session of their tree, and are written with the same ids.
func TestAgents(t *testing.T) {
	record := func(i int, ids string) string {
		start := 1_000_000_000 * int64(i+1)
		return fmt.Sprintf(`{"metadata":{"session_num":%d,%s,"turn_index":%d,"request_start_ns":%d,"request_end_ns":%d,"worker_id":"w","benchmark_phase":"profiling","was_cancelled":false},"metrics":{"request_latency":{"value":5.0,"unit":"ms"},"time_to_first_token":{"value":2.0,"unit":"ms"},"output_sequence_length":{"value":3,"unit":"tokens"}},"error":null}`,
			i, ids, i%2, start, start+5_000_000)
	}
	const root, child, grandchild = `"x_correlation_id":"r","agent_depth":0,"root_correlation_id":"r"`,
		`"x_correlation_id":"c","parent_correlation_id":"r","agent_depth":1,"root_correlation_id":"r"`,
		`"x_correlation_id":"g","parent_correlation_id":"c","agent_depth":2,"root_correlation_id":"r"`
	ids := []string{root, child, grandchild, `"x_correlation_id":"old"`}
	var data []string
	for i, x := range ids {
		data = append(data, record(i, x))
	}
	text := strings.Join(data, "\n") + "\n"
	r := runtest.Import(t, []byte(text), imported...)
	var got []string
	for r.Next() {
		q := r.Request()
		got = append(got, fmt.Sprintf("%s %q below %q, depth %d, turn %d", q.SessionID, q.Agent, q.ParentAgent, q.Depth, q.Turn))
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		`r "" below "", depth 0, turn 0`, `r "c" below "", depth 1, turn 1`, `r "g" below "c", depth 2, turn 0`, `old "" below "", depth 0, turn 1`,
	}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	var b bytes.Buffer
	if _, err := releases[0].writeRecords(t.Context(), runtest.Import(t, []byte(text), imported...), dialect.Config{}, &b); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		metadata, _ := parse(t, line).Member("metadata")
		want, _ := parse(t, "{"+ids[i]+"}").Member("x_correlation_id")
		if x, _ := metadata.Member("x_correlation_id"); x.Raw() != want.Raw() {
			t.Errorf("record %d: x_correlation_id %s, want %s", i, x.Raw(), want.Raw())
		}
		for _, name := range []string{"parent_correlation_id", "agent_depth", "root_correlation_id"} {
			w, ok := parse(t, "{"+ids[i]+"}").Member(name)
			if x, _ := metadata.Member(name); ok && x.Raw() != w.Raw() {
				t.Errorf("record %d: %s %s, want %s", i, name, x.Raw(), w.Raw())
			}
		}
	}
}
