package kserve

// Members calls f for each member of a JSON object, in their order, with the
// value without white space and otherwise byte for byte: a step of
// perf_analyzer's input data, which may hold NaN, Infinity and strings that are
// not UTF-8. An error of f ends it and is returned; others say where the text is
// not JSON. The bytes of value belong to f.
func Members(js []byte, f func(name string, value []byte) error) error {
	s := jsonScanner{b: js}
	if s.peek() != '{' {
		return s.errorf("want an object, found %s", s.describe())
	}
	err := s.object(func(name string) error {
		s.peek()
		start := s.i
		if err := s.skip(0); err != nil {
			return err
		}
		return f(name, compact(s.b[start:s.i]))
	})
	if err != nil {
		return err
	}
	return s.end()
}

// compact returns a copy of a JSON value without white space between tokens.
func compact(js []byte) []byte {
	out := make([]byte, 0, len(js))
	inString := false
	for i := 0; i < len(js); i++ {
		c := js[i]
		switch {
		case inString && c == '\\' && i+1 < len(js):
			out = append(out, c)
			i++
			c = js[i]
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		}
		out = append(out, c)
	}
	return out
}
