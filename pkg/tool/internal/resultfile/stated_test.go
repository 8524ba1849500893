package resultfile

import "testing"

// Values of an array that are no objects are left out, wherever they stand.
func TestReadObjects(t *testing.T) {
	for text, want := range map[string]int{
		`[{"a":1},[],{"b":[{"c":1}]},[[{"d":1}]],5,"x",null]`: 2,
		`[]`:                    0,
		`{"a":1}` + "\n" + `{}`: 2,
		``:                      0,
	} {
		if all, err := readObjects([]byte(text)); err != nil || len(all) != want {
			t.Errorf("%s: %d objects, error %v; want %d", text, len(all), err, want)
		}
	}
	if _, err := readObjects([]byte(`[{"a":1}`)); err == nil {
		t.Error("an array that breaks off is no error")
	}
}
