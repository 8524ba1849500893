package dialect

// Uncounted returns a Tokenizer that counts 0 tokens in every text. Analyze uses it if
// Config.Explain is set and Config.Tokenizer is nil. Reports must show figures made from
// its counts as missing. Uncounted always returns the same value.
func Uncounted() Tokenizer { return uncounted{} }

type uncounted struct{}

func (uncounted) Count(string) int                 { return 0 }
func (uncounted) AddSpecial(ids []uint32) []uint32 { return ids }
