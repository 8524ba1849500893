package jsonscan

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// InWords returns an error of encoding/json in words of JSON, "merged.ranks: expected a whole number, found string",
// in place of the names of Go's types. It returns other errors as they are.
func InWords(err error) error {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return err
	}
	where := ""
	if t.Field != "" {
		path := strings.Split(t.Field, ".")
		last := len(path) - 1
		// The path has the names of embedded types, which are no members.
		inner := slices.DeleteFunc(path[:last:last], func(name string) bool { return name != strings.ToLower(name) })
		where = strings.Join(append(inner, strings.ToLower(path[last])), ".") + ": "
	}
	return fmt.Errorf("%sexpected %s, found %s", where, kindInWords(t.Type.Kind()), t.Value)
}

func kindInWords(kind reflect.Kind) string {
	switch kind {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	}
	return "an object"
}
