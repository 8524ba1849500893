package tokenizer

import "github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"

// unicodeForms holds the normalizers NFC, NFD, NFKC and NFKD by name.
var unicodeForms = map[string]unicodeForm{
	"NFC":  unicodeForm(unidata.NFC),
	"NFD":  unicodeForm(unidata.NFD),
	"NFKC": unicodeForm(unidata.NFKC),
	"NFKD": unicodeForm(unidata.NFKD),
}

type unicodeForm unidata.Form

func (f unicodeForm) normalize(s string, _ int) string { return unidata.Form(f).String(s) }
