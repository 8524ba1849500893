// Package unidata holds the Unicode data of the Hugging Face tokenizers library.
//
// That library takes the properties of characters from five sources of different Unicode
// versions: 9.0 for the normal forms, 15.1 for regular expressions, other versions elsewhere.
// Exact counts need the same properties for every code point. The tables here were therefore
// generated from the library itself, by testdata/generate/unidata.py of package tokenizer.
//
// Decompositions and combining classes are golang.org/x/text's, for the characters that the
// library knows. Unicode's stability policy keeps these in every later version, so no result
// depends on the Go release.
//
//	props := unidata.Load()
//	if props.Class(r)&unidata.Letter != 0 { … }
//	s = unidata.NFC.String(s)
//
// The tables are unpacked on first use, which takes a few milliseconds.
package unidata
