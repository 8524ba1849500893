// Package plural formats counts for messages, with the right form of their nouns and,
// if wanted, with thousands separators. It formats times for messages, too.
//
//	fmt.Sprintf("left out: %s", plural.Of(n, "request"))        // "left out: 1072 requests"
//	fmt.Sprintf("left out: %s", plural.GroupedOf(n, "request")) // "left out: 1,072 requests"
//
// It knows only words whose plural ends in s.
package plural
