package llmperf

// A Version is a version of llm_perf.py.
type Version struct {
	// Name is the name of the dialect: "llm_perf-v1".
	Name string

	table bool // it prints a table and divides token counts by the time of the level
}

// versions holds all versions, oldest first: the script as it was on 2024-09-03 and on
// 2024-09-24.
var versions = []*Version{
	{Name: "llm_perf-v1"},
	{Name: "llm_perf-v2", table: true},
}
