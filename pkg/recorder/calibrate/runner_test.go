package calibrate

import "testing"

func TestCompletionID(t *testing.T) {
	if id := completionID([]byte(`data: {"id":"cmpl-sim-7","object":"x"}`)); id != "cmpl-sim-7" {
		t.Errorf("id %q", id)
	}
	if id := completionID([]byte("data: [DONE]")); id != "" {
		t.Errorf("id %q of no object", id)
	}
}
