package analyze

import (
	"encoding/json"

	"github.com/pa-tools/pa/pkg/export"
)

// modelOf returns the model that the payload of an OpenAI request names; ""
// when there is none.
func modelOf(r *export.Request) string {
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
