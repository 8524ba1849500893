package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// TestTrain checks that training on the corpus gives tokenizer.json.
func TestTrain(t *testing.T) {
	testenv.NoRace(t)
	corpus, err := os.ReadFile("../corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, err := tokenizerJSON(string(corpus))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("../tokenizer.json is not what the corpus gives; run go generate in pkg/tokenizer/builtin")
	}
}
