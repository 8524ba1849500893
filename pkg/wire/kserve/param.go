package kserve

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseParam parses a request parameter in the syntax of perf_analyzer's
// --request-parameter: "name:value:type" with the type bool, int or string. The value may
// contain colons.
func ParseParam(s string) (Param, error) {
	name, rest, ok := strings.Cut(s, ":")
	i := strings.LastIndexByte(rest, ':')
	if !ok || i < 0 || name == "" {
		return Param{}, fmt.Errorf("request parameter %q: expected name:value:type", s)
	}
	value, typ := rest[:i], rest[i+1:]
	p := Param{Name: name}
	switch typ {
	case "bool":
		switch strings.ToLower(value) {
		case "true", "1":
			p.Value = true
		case "false", "0":
			p.Value = false
		default:
			return Param{}, fmt.Errorf("request parameter %q: %q is not true or false", s, value)
		}
	case "int":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return Param{}, fmt.Errorf("request parameter %q: %q is not an integer", s, value)
		}
		p.Value = n
	case "string":
		p.Value = value
	default:
		return Param{}, fmt.Errorf("request parameter %q: type %q is not bool, int or string", s, typ)
	}
	return p, nil
}
