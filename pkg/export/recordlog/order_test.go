package recordlog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// The experiments of a log come in the order of the list of levels, with their
// own requests, however far the recording got.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		order   []int    // of measurement; level i has the value i+1
		levels  int      // measured so far
		whole   bool     // the run has ended
		want    []string // values, each with the values that its requests are of
		warning string
	}{
		{"no order", nil, 3, true, []string{"1:1", "2:2", "3:3"}, ""},
		{"as listed", []int{0, 1, 2}, 3, true, []string{"1:1", "2:2", "3:3"}, ""},
		{"another order", []int{2, 0, 1}, 3, true, []string{"1:1", "2:2", "3:3"}, ""},
		{"killed in the first", []int{2, 0, 1}, 1, false, []string{"3:3"}, ""},
		{"killed in the second", []int{2, 0, 1}, 2, false, []string{"1:1", "3:3"}, ""},
		{"killed before the first", []int{2, 0, 1}, 0, false, nil, ""},
		{"indices of a longer list", []int{40, 7, 9}, 3, true, []string{"8:8", "10:10", "41:41"}, ""},
		{"twice the same", []int{1, 1, 0}, 3, true, []string{"2:2", "2:2", "1:1"}, "does not name one level for each experiment"},
		{"too short", []int{1, 0}, 3, true, []string{"2:2", "1:1", "3:3"}, "does not name one level for each experiment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			meta := &export.RunMeta{Tool: "t"}
			if tt.order != nil {
				meta.Repeat = &export.RepeatMeta{Index: 1, Of: 2, Group: "g", Order: tt.order}
			}
			j, err := NewWriter(To(&out), &export.Run{Meta: meta})
			if err != nil {
				t.Fatal(err)
			}
			for i := range tt.levels {
				value := i + 1
				if i < len(tt.order) {
					value = tt.order[i] + 1
				}
				q := &export.Request{ID: uint64(value), HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured}
				warmup := *q
				warmup.Phase = export.PhaseWarmup
				e := &export.Experiment{Meta: &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: value}}}
				err = errors.Join(err, j.BeginExperiment("concurrency", fmt.Sprint(value)), j.WriteRequest(&warmup), j.WriteRequest(q), j.EndExperiment(e))
			}
			if tt.whole {
				err = errors.Join(err, j.Close(&export.Run{Meta: meta}))
			} else {
				err = errors.Join(err, j.Flush())
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := openBytes(t, out.Bytes(), export.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var got []string
			for _, e := range r.Run().Experiments {
				got = append(got, fmt.Sprintf("%s:%d", e.Value, e.Meta.Measured))
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("experiments %v, want %v", got, tt.want)
			}
			requests := 0
			last := 0
			for r.Next() {
				requests++
				e := r.Run().Experiments[r.Experiment()]
				if r.Experiment() < last || e.Value != fmt.Sprint(r.Request().ID) {
					t.Errorf("request of level %d in experiment %d, %s", r.Request().ID, r.Experiment(), e.Value)
				}
				last = r.Experiment()
			}
			if requests != 2*tt.levels {
				t.Errorf("%d requests, want %d", requests, 2*tt.levels)
			}
			var cut *export.CutError
			if err := r.Err(); tt.whole && err != nil || !tt.whole && !errors.As(err, &cut) {
				t.Errorf("err = %v, whole %v", err, tt.whole)
			}
			warnings := fmt.Sprint(r.Warnings())
			if tt.warning == "" && len(r.Warnings()) > 0 || !strings.Contains(warnings, tt.warning) {
				t.Errorf("warnings %v, want %q", warnings, tt.warning)
			}
		})
	}
}
