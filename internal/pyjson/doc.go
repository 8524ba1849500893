// Package pyjson writes JSON as Python's json.dumps does: members in the order
// given, floats as repr writes them ("1.0", "1e-09", also NaN and Infinity,
// which are not JSON), everything beyond ASCII escaped, a blank after the colon.
//
//	b := pyjson.Append(nil, pyjson.Object{
//		{"unit", "ms"},
//		{"avg", 12.0},
//	}, 2) // json.dumps(…, indent=2)
package pyjson
