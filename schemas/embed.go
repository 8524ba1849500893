package schemas

import "embed"

// FS holds the *.json files of this folder.
//
//go:embed *.json
var FS embed.FS

// ProfileExport returns the schema of profile_export.json.
func ProfileExport() []byte {
	b, err := FS.ReadFile("profile_export.schema.json")
	if err != nil {
		panic(err) // it is embedded
	}
	return b
}
