package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// No way of printing a header or a Config shows the value.
func TestHeaderHidesValue(t *testing.T) {
	h := Header{Name: "Authorization", Value: "Bearer sk-secret"}
	cfg := Config{URL: "h", Headers: []Header{h}}
	asJSON, err := json.Marshal(cfg.Headers)
	if err != nil {
		t.Fatal(err)
	}
	printed := []string{
		string(asJSON), fmt.Sprint(h, &h, cfg, []Header{h}), fmt.Sprintf("%v|%+v|%#v|%s|%q|%d|%x", h, h, h, h, h, h, h),
		fmt.Sprintf("%v|%+v|%#v", cfg, cfg, cfg),
	}
	for _, s := range printed {
		if strings.Contains(s, "sk-secret") || strings.Contains(s, fmt.Sprintf("%x", "sk-secret")) {
			t.Errorf("shows the value: %s", s)
		}
		if !strings.Contains(s, "Authorization: [redacted]") {
			t.Errorf("does not show the name: %s", s)
		}
	}
}
