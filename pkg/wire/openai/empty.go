package openai

import "bytes"

// IsEmptyFrame reports whether a frame of an event stream, as package sse splits
// it, adds nothing to an answer. Such a frame holds comments, fields without data,
// or data that is blank, "null" or "{}". An event named "error" is never empty.
// IsEmptyFrame does not allocate, and stops at the first byte that adds something.
func IsEmptyFrame(frame []byte) bool {
	value := false // some data was not blank
	for len(frame) > 0 {
		c := frame[0]
		if c == '\r' || c == '\n' {
			frame = frame[1:]
			continue
		}
		if c == ':' {
			frame = afterLine(frame)
			continue
		}
		name, ok := fieldName(frame)
		if !ok {
			return false
		}
		rest := bytes.TrimLeft(frame[min(len(name)+1, len(frame)):], " \t")
		switch name {
		case "event":
			if bytes.HasPrefix(rest, []byte("error")) {
				return false
			}
		case "data":
			found := false
			if rest, found = cutEmptyValue(rest); found && value {
				return false
			}
			value = value || found
			if rest = bytes.TrimLeft(rest, " \t"); len(rest) > 0 && rest[0] != '\r' && rest[0] != '\n' {
				return false
			}
		}
		frame = afterLine(rest)
	}
	return true
}

// fieldName returns the name of the field in the first line of b, if events have such a
// field.
func fieldName(b []byte) (name string, ok bool) {
	for _, name := range [...]string{"data", "event", "id", "retry"} {
		if n := len(name); len(b) >= n && string(b[:n]) == name {
			return name, len(b) == n || b[n] == ':' || b[n] == '\r' || b[n] == '\n'
		}
	}
	return "", false
}

// cutEmptyValue removes {} or null from the start of b.
func cutEmptyValue(b []byte) (rest []byte, found bool) {
	for _, nothing := range [...]string{"{}", "null"} {
		if n := len(nothing); len(b) >= n && string(b[:n]) == nothing {
			return b[n:], true
		}
	}
	return b, false
}

// afterLine returns b without its first line.
func afterLine(b []byte) []byte {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			return b[i+1:]
		}
	}
	return nil
}
