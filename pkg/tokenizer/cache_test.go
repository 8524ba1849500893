package tokenizer

import "testing"

// The key of a piece does not depend on the text around it, and different pieces have different keys.
func TestKeyOf(t *testing.T) {
	pieces := map[shortKey]string{}
	for n := 1; n <= shortLength; n++ {
		for changed := range n {
			for _, b := range []byte{0, 1, 'a', 0xff} {
				w := []byte("abcdefghijklmnop")[:n]
				w[changed] = b
				alone := keyOf(string(w), 0, n)
				for _, before := range []string{"", "x"} {
					for after := range 2 * shortLength {
						text := before + string(w) + "0123456789012345678901234567890123456789"[:after]
						if got := keyOf(text, len(before), len(before)+n); got != alone {
							t.Fatalf("%q in %q has the key %v, alone %v", w, text, got, alone)
						}
					}
				}
				if other, known := pieces[alone]; known && other != string(w) {
					t.Fatalf("%q and %q have the key %v", w, other, alone)
				}
				pieces[alone] = string(w)
			}
		}
	}
}
