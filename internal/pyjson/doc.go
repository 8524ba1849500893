// Package pyjson writes JSON as Python's json.dumps does and reads it as
// json.loads and orjson.loads do, with their error messages.
//
//	b := pyjson.Append(nil, pyjson.Object{
//		{"unit", "ms"},
//		{"avg", 12.0},
//	}, 2) // json.dumps(…, indent=2)
//
// Members are written in the order given, floats as repr writes them ("1.0",
// "1e-09", also NaN and Infinity, which are not JSON), everything beyond ASCII
// is escaped, a blank follows the colon.
//
//	v, err := pyjson.Parse(text, pyjson.JSON)
//	choices, ok := v.Member("choices")
//
// AppendORJSON writes as orjson.dumps does.
//
// A text is checked as a whole, then looked into where it lies: nothing is
// built from it.
package pyjson
