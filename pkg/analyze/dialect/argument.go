package dialect

import "fmt"

// An ArgError says what is wrong with one of Config.Args, or with one of the
// hints that the file holds in their place.
type ArgError struct {
	Key string
	Msg string
	// Hint says that it came from the file.
	Hint bool
}

func (e *ArgError) Error() string {
	if e.Hint {
		return fmt.Sprintf("the file's hint %s: %s; give it anew with --arg %s=…", e.Key, e.Msg, e.Key)
	}
	return fmt.Sprintf("--arg %s: %s", e.Key, e.Msg)
}
