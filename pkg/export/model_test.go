package export

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExcluded(t *testing.T) {
	for _, tt := range []struct {
		phase  Phase
		status Status
		want   Exclusion
	}{
		{PhaseUnknown, StatusUnknown, ""},
		{PhaseMeasured, StatusOK, ""},
		{PhaseWarmup, StatusOK, "warmup"},
		{PhaseWarmup, StatusHTTPError, "warmup"}, // the phase is why it was not exported
		{PhaseMeasured, StatusCancelled, "cancelled"},
		{PhaseCooldown, StatusCancelled, "cancelled"},
		{PhaseMeasured, StatusTimeout, "failed"},
		{PhaseCooldown, StatusTruncated, "failed"},
		{PhaseCooldown, StatusOK, "late"},
	} {
		r := Request{Phase: tt.phase, Status: tt.status}
		if got := r.Excluded(); got != tt.want {
			t.Errorf("%v, %v: Excluded() = %q, want %q", tt.phase, tt.status, got, tt.want)
		}
	}
}

func TestEndNS(t *testing.T) {
	r := Request{}
	if ns, ok := r.FinalResponseNS(); ns != 0 || ok {
		t.Errorf("no responses: %d, %v", ns, ok)
	}
	r.Responses = []Response{{RecvNS: 5}, {RecvNS: 3}} // the last, not the latest
	if ns, ok := r.FinalResponseNS(); ns != 3 || !ok {
		t.Errorf("EndNS() = %d, %v", ns, ok)
	}
}

func TestNames(t *testing.T) {
	for s := StatusUnknown; s <= StatusProtocolError; s++ {
		if got, err := ParseStatus(s.String()); got != s || err != nil {
			t.Errorf("ParseStatus(%q) = %v, %v", s, got, err)
		}
	}
	for p := PhaseUnknown; p <= PhaseCooldown; p++ {
		if got, err := ParsePhase(p.String()); got != p || err != nil {
			t.Errorf("ParsePhase(%q) = %v, %v", p, got, err)
		}
	}
	if _, err := ParseStatus("tired"); err == nil || err.Error() != `unknown status "tired"` {
		t.Errorf("err = %v", err)
	}
	if got := Status(99).String(); got != "invalid(99)" {
		t.Errorf("Status(99) = %q", got)
	}
	if got := SourceKernel.String(); got != "kernel" {
		t.Errorf("SourceKernel = %q", got)
	}
}

func TestValue(t *testing.T) {
	for _, tt := range []struct {
		v           Value
		null, empty bool
	}{
		{Value{}, true, true},
		{JSON("null"), true, true},
		{Text("null"), false, false},
		{Text(""), false, true},
		{JSON("[]"), false, true},
		{Text("[]"), false, false},
		{JSON("0"), false, false},
		{JSON(`""`), false, false},
	} {
		if tt.v.Null() != tt.null || tt.v.Empty() != tt.empty {
			t.Errorf("%+v: Null() = %v, Empty() = %v", tt.v, tt.v.Null(), tt.v.Empty())
		}
	}
	f := Fields{{"a", Text("1")}, {"b", Text("2")}, {"a", Text("3")}}
	if v, ok := f.Get("a"); !ok || string(v.Data) != "1" {
		t.Errorf("Get takes %q, want the first", v.Data)
	}
	if _, ok := f.Get("c"); ok {
		t.Error("Get finds what is not there")
	}
}

// A clone is equal and shares nothing.
func TestClone(t *testing.T) {
	make1 := func() *Request {
		return &Request{
			StartNS: 1, Inputs: Fields{{"a", Text("in")}}, Extra: Fields{},
			Responses: []Response{{RecvNS: 2, Outputs: Fields{{"o", JSON("[1]")}}}, {RecvNS: 3}},
		}
	}
	r := make1()
	c := r.Clone()
	if d := cmp.Diff(r, c); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	r.Inputs[0].Value.Data[0] = 'X'
	r.Inputs[0].Name = "X"
	r.Responses[0].Outputs[0].Value.Data[1] = 'X'
	r.Responses[0].RecvNS = 9
	if d := cmp.Diff(make1(), c); d != "" {
		t.Errorf("after a change of the original (-want +got):\n%s", d)
	}
	empty := (&Request{}).Clone()
	if empty.Inputs != nil || empty.Extra != nil || empty.Responses != nil {
		t.Error("nil became empty")
	}
}

func TestMessages(t *testing.T) {
	for want, got := range map[string]string{
		"a.json: cut short at byte 7, inside experiment 0, request 1; the part before it was read": (&CutError{Name: "a.json", Offset: 7, Where: "experiment 0, request 1"}).Error(),
		"a.json: cut short at byte 7, inside the footer; nothing before it can be used":            (&CutError{Name: "a.json", Offset: 7, Where: "the footer", Nothing: true}).Error(),
		"a.json: byte 7: expected x, found y":                                                      (&SyntaxError{Name: "a.json", Offset: 7, Msg: "expected x, found y"}).Error(),
		"a.json: byte 7: experiment 0: expected x, found y":                                        (&SyntaxError{Name: "a.json", Offset: 7, Where: "experiment 0", Msg: "expected x, found y"}).Error(),
		"a.json: odd": Warning{Name: "a.json", Offset: -1, Msg: "odd", Count: 1}.String(),
		"a.json: byte 0: experiment 0: odd (and 2 more)": Warning{Name: "a.json", Where: "experiment 0", Msg: "odd", Count: 3}.String(),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
