// Package figure computes the figures of a load level that a report shows beside the summaries of its metrics: whether
// requests met an objective, how smoothly tokens came, what they cost, what the prefix cache held, and where time went
// at the server.
//
// Each is a [Group], with a file of its own: it sees the requests of a level, and sets a part of the [Level]. A [Figure] has
// a value or the reason why there is none. [MaxLoadOf] and [Prompts] compute figures of several levels together.
package figure
