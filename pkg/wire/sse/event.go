package sse

import (
	"bytes"
	"strconv"
	"time"
)

// An Event is the content of one frame.
type Event struct {
	// Name and ID are the values of the last "event:" and "id:" lines, nil
	// when there are none. They alias the frame. An id with a NUL is ignored.
	Name []byte
	ID   []byte
	// Data holds the values of the "data:" lines, joined with LF. It aliases the
	// frame when there is one such line, else it is a copy. It keeps white space
	// at the end, which TensorRT-LLM sends.
	Data []byte
	// HasData is set when there is a "data" line, even an empty one.
	HasData bool
	// Comment is set when the frame holds comments (lines that start with a
	// colon: keep-alives) and nothing else.
	Comment bool
	// Retry is the value of the last valid "retry:" line, in whole milliseconds
	// below 2^32; 0 when there is none.
	Retry time.Duration
}

var bom = []byte("\ufeff")

// Parse reads the fields of a frame. As the standard says, it skips fields with
// other names, so a frame that is not an event, such as a JSON body, gives the
// zero Event. The space after the colon is optional. Parse skips a byte order mark
// at the start, and the last line needs no ending.
func Parse(frame []byte) Event {
	var e Event
	comments, fields, dataLines := false, false, 0
	front := true
	var lines lineFinder
	for pos := 0; pos < len(frame); {
		end := lines.end(frame, pos)
		line := frame[pos:end]
		pos = end + 1
		if len(line) == 0 {
			continue // a blank line, or the gap between CR and LF
		}
		if front {
			line, front = bytes.TrimPrefix(line, bom), false
			if len(line) == 0 {
				continue
			}
		}
		if line[0] == ':' {
			comments = true
			continue
		}
		fields = true
		name, value, _ := bytes.Cut(line, colon)
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(name) {
		case "data":
			e.HasData = true
			if dataLines++; dataLines == 1 {
				e.Data = value
				break
			}
			if dataLines == 2 {
				e.Data = append(make([]byte, 0, len(frame)), e.Data...)
			}
			e.Data = append(append(e.Data, '\n'), value...)
		case "event":
			e.Name = value
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				e.ID = value
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
				e.Retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	e.Comment = comments && !fields
	return e
}

var colon = []byte(":")
