package testenv

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"unsafe"
)

// Fill sets all fields of the struct that p points to, also fields that no other package sees. It leaves out
// pointers, and fields of the names in but with all that they hold.
func Fill(t *testing.T, p any, but ...string) {
	t.Helper()
	n := int64(0)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
		n++
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if !slices.Contains(but, v.Type().Field(i).Name) {
					fill(v.Field(i))
				}
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 3, 3))
			for i := range v.Len() {
				fill(v.Index(i))
			}
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64, reflect.Int32:
			v.SetInt(-n * 1e7)
		case reflect.Uint8:
			v.SetUint(uint64(n % 3))
		case reflect.Uint32:
			v.SetUint(math.MaxUint32 - uint64(n))
		case reflect.Uint64:
			v.SetUint(math.MaxUint64 - uint64(n))
		case reflect.String:
			v.SetString("text " + string(rune('a'+n)))
		case reflect.Interface:
			v.Set(reflect.ValueOf(errors.New("refused")))
		case reflect.Pointer:
		default:
			t.Fatalf("a field of kind %v", v.Kind())
		}
	}
	fill(reflect.ValueOf(p).Elem())
}
