package kserve

import "github.com/pa-tools/pa/internal/jsonscan"

// Members calls f for each member of a JSON object, in order, with the value without white
// space and otherwise byte for byte. The object is a step of perf_analyzer's input data,
// which may hold NaN, Infinity and strings that are not UTF-8. Members stops at an error
// of f and returns it; other errors say where the text is not JSON. The bytes of value
// belong to f.
func Members(js []byte, f func(name string, value []byte) error) error {
	w := jsonscan.Walker{Text: js, Words: true}
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		name := string(w.Key)
		if value := w.Value(); w.Err == nil {
			w.Stop(f(name, jsonscan.AppendCompact(nil, value)))
		}
	}
	w.End()
	return w.Err
}
