package llmperf

// A Version is a version of llm_perf.py.
type Version struct {
	// Name is the name of the dialect: "llm_perf-v1".
	Name string
	// Released is the day of the code that is reproduced.
	Released string

	table bool // the second version's report
}

var versions = []*Version{
	{Name: "llm_perf-v1", Released: "2024-09-03"},
	{Name: "llm_perf-v2", Released: "2024-09-24", table: true},
}

// Versions returns all versions.
func Versions() []*Version { return versions }

// Find returns the version of that name, nil if there is none.
func Find(name string) *Version {
	for _, v := range versions {
		if v.Name == name {
			return v
		}
	}
	return nil
}
