package plan

import "fmt"

// A Final is a form of the end of a Triton stream.
type Final int

// The ends of a stream.
const (
	// FinalEmpty ends a stream with an empty response that has the final flag. As in
	// Triton, only requests with the parameter triton_enable_empty_final_response get
	// it, and never over HTTP.
	FinalEmpty Final = iota + 1
	// FinalAttached sets the final flag on the response with the last token.
	FinalAttached
)

// String returns "empty" or "attached".
func (f Final) String() string {
	switch f {
	case FinalEmpty:
		return "empty"
	case FinalAttached:
		return "attached"
	}
	return fmt.Sprintf("Final(%d)", int(f))
}

// ParseFinal is the inverse of String.
func ParseFinal(s string) (Final, error) {
	for f := FinalEmpty; f <= FinalAttached; f++ {
		if s == f.String() {
			return f, nil
		}
	}
	return 0, fmt.Errorf("unknown final %q; expected empty or attached", clip(s))
}
