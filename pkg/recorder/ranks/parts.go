package ranks

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// maxPartsBytes bounds the text of a plan's parts, so that a message fits into a frame. Of a larger
// plan only the hash is compared.
const maxPartsBytes = 3500

// maxPartName bounds the name of a part.
const maxPartName = 40

// partsText returns the parts of a plan as a text for a message: their names, each with the beginning of
// a hash. It is "" if it would be too long.
func partsText(parts map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		sum := sha256.Sum256([]byte(parts[name]))
		all = append(all, name+"="+hex.EncodeToString(sum[:3]))
	}
	text := strings.Join(all, ",")
	if len(text) > maxPartsBytes {
		return ""
	}
	return text
}

// differentParts returns the names of the parts that differ between two texts, sorted. readParts
// leaves out names that no plan has, because a rank may send anything.
func differentParts(a, b string) []string {
	if a == "" || b == "" {
		return nil
	}
	one, other := readParts(a), readParts(b)
	var names []string
	for name, hash := range one {
		if other[name] != hash {
			names = append(names, name)
		}
	}
	for name := range other {
		if _, ok := one[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readParts returns the hashes of a text by the names of the parts.
func readParts(text string) map[string]string {
	all := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, hash, ok := strings.Cut(part, "=")
		if ok && name != "" && len(name) <= maxPartName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_ ") == "" {
			all[name] = hash
		}
	}
	return all
}
