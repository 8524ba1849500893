package plan

import "fmt"

// A Final says how a Triton stream ends.
type Final int

// The ends of a stream.
const (
	// FinalEmpty ends a stream with an empty response that is flagged final. As
	// in Triton it is sent only to requests with the parameter
	// triton_enable_empty_final_response, and never over HTTP.
	FinalEmpty Final = iota + 1
	// FinalAttached flags the last token's response as final.
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
