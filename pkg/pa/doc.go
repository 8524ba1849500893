// Package pa records a load on an LLM inference server into a file, and analyzes such a file: one
// call each, for a program that embeds them. Where [Load] has too few settings, use package
// recorder; where [Report] has too few figures, use its Full report.
package pa
