package answer

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/pa-tools/pa/internal/pack"
)

// Every field of a Measured survives packing, also fields that no other package sees.
func TestPack(t *testing.T) {
	t.Parallel()
	var n int64
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
		n++
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64, reflect.Int32:
			v.SetInt(-n * 1e7)
		case reflect.Uint8:
			v.SetUint(uint64(n % 3))
		case reflect.Uint64:
			v.SetUint(math.MaxUint64 - uint64(n))
		case reflect.String:
			v.SetString("text " + string(rune('a'+n)))
		case reflect.Interface:
			v.Set(reflect.ValueOf(errors.New("refused")))
		case reflect.Slice, reflect.Pointer: // Gaps, GapTokens and Answer
		default:
			t.Fatalf("a field of kind %v", v.Kind())
		}
	}
	m := &Measured{}
	fill(reflect.ValueOf(m).Elem())
	var p pack.Packer
	for range 2 {
		m.Pack(&p, 1<<40)
		(&Measured{}).Pack(&p, 1<<40)
	}
	u := pack.Unpacker{Bytes: p.Bytes}
	for i, want := range []*Measured{m, {}, m, {}} {
		got := &Measured{}
		if got.Unpack(&u, 1<<40); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
	if len(u.Bytes) > 0 {
		t.Errorf("%d bytes left", len(u.Bytes))
	}
}
