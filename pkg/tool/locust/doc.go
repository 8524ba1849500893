// Package locust reads the figures that Locust writes: the JSON of --json and the table …_stats.csv of --csv. Locust keeps no requests.
package locust
