package kserve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

func TestFields(t *testing.T) {
	r := Response{Outputs: []Tensor{
		{Name: "extra", Datatype: INT8, Data: []byte{1}},
		{Name: "text", Datatype: BYTES, Data: []byte("\x01\x00\x00\x00x")},
		{Name: "bad", Datatype: INT32, Data: []byte{1}},
	}}
	got, err := r.Fields([]string{"text", "missing"})
	want := export.Fields{
		{Name: "text", Value: export.Text("x")},
		{Name: "missing", Value: export.Text("")},
		{Name: "extra", Value: export.JSON("1")},
		{Name: "bad", Value: export.Text("")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := `output "bad": INT32 tensor of 1 bytes: not a multiple of 4`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFinal(t *testing.T) {
	for _, tt := range []struct {
		params    []Param
		final, ok bool
	}{
		{nil, false, false},
		{[]Param{{"x", true}}, false, false},
		{[]Param{{"x", true}, {ParamFinal, true}}, true, true},
		{[]Param{{ParamFinal, false}}, false, true},
		{[]Param{{ParamFinal, "true"}}, false, false},
	} {
		r := Response{Params: tt.params}
		if final, ok := r.Final(); final != tt.final || ok != tt.ok {
			t.Errorf("Final of %v = %v, %v; want %v, %v", tt.params, final, ok, tt.final, tt.ok)
		}
	}
}
