// Package unidata is Unicode as the Hugging Face tokenizers library sees it.
//
// That library takes the properties of characters from five sources of
// different Unicode versions: 9.0 for the normal forms, 15.1 for regular
// expressions, older and newer ones elsewhere. Counting exactly as it does
// needs the same answers for every code point, those assigned since included,
// so the tables here were written down by asking the library about each of
// them, and do not change with the Go release. testdata/generate/unidata.py of
// the package above does that.
//
//	props := unidata.Load()
//	if props.Class(r)&unidata.Letter != 0 { … }
//	s = unidata.NFC.String(s)
//
// The tables are spread out on first use, which takes a few milliseconds.
package unidata
