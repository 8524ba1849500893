package dialect

import "fmt"

// An ArgError reports a mistake in Config.Args, or in the hints that a file holds in
// their place.
type ArgError struct {
	Key string // "": the tool takes no arguments
	Msg string
	// Hint reports whether the argument came from the file's hints.
	Hint bool
}

func (e *ArgError) Error() string {
	switch {
	case e.Hint:
		return fmt.Sprintf("the file's hint %s: %s; give it anew with --arg %s=…", e.Key, e.Msg, e.Key)
	case e.Key == "":
		return "--arg: " + e.Msg
	}
	return fmt.Sprintf("--arg %s: %s", e.Key, e.Msg)
}
