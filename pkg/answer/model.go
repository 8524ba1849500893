package answer

import (
	"encoding/json"

	"github.com/pa-tools/pa/pkg/export"
)

// ModelOf returns the name of the model in the payload of an OpenAI request; "" if it
// names none.
func ModelOf(r *export.Request) string {
	v, ok := r.Inputs.Get("payload")
	if !ok {
		return ""
	}
	var body struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(v.Data, &body) != nil {
		return ""
	}
	return body.Model
}
