// Package baseline keeps accepted runs in a directory, one folder for each point:
//
//	baseline/2026-11-24T041220Z/new.1.json
//	baseline/2026-11-24T041220Z/new.2.json
//	baseline/2026-11-24T041220Z/manifest.json
//	baseline/2026-11-25T031501Z-v1.3/run.1.json.gz
//	baseline/2026-11-25T031501Z-v1.3/manifest.json
//
// A folder's name begins with the start of its first run in UTC, so that names sort by
// time; a label may follow. A folder appears whole or not at all. Names that begin with a
// dot are ignored. The manifest has the SHA-256 of each file of the point, so that [Read]
// notices files that were changed, removed or added later.
package baseline
