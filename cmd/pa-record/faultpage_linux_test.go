package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// A faultRow is a line of the page: an outcome, and the vias over which a fault has it.
type faultRow struct {
	vias []via
	outcome
}

// An outcome is what the row of a request that suffers a fault says.
type outcome struct {
	status  export.Status
	code    int
	message string // the server's address is HOST:PORT
	kept    string // the times of the row; see kept
	resent  bool   // pa-record has sent the request twice
}

// class returns the status and the code as messages of pa-record show them.
func (o *outcome) class() string {
	if o.code == 0 || o.status == export.StatusOK {
		return o.status.String()
	}
	return fmt.Sprintf("%v %d", o.status, o.code)
}

// kept describes the times that a row has: "nothing", or some of the start, the first
// byte and the responses.
func kept(q *export.Request) string {
	var all []string
	if q.StartNS != 0 {
		all = append(all, "start")
	}
	if q.FirstByteNS != 0 {
		all = append(all, "first byte")
	}
	switch n := len(q.Responses); {
	case n == 1:
		all = append(all, "1 response")
	case n > 1:
		all = append(all, fmt.Sprintf("%d responses", n))
	}
	if all == nil {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// addOutcome adds an outcome over v to the rows of a fault.
func addOutcome(rows []faultRow, v via, o outcome) []faultRow {
	for i := range rows {
		if rows[i].outcome == o {
			rows[i].vias = append(rows[i].vias, v)
			return rows
		}
	}
	return append(rows, faultRow{[]via{v}, o})
}

const faultsHead = `# Faults

This page lists each fault of a server or a network, and how pa-record records the request. ` + "`go test ./cmd/pa-record -run\nTestFaults -update`" + ` writes this golden from recorded faults.

- A request that fails is a row of the export with ` + "`status`, `code` and `message`" + `; ` + "`pa-analyze requests`" + ` lists them.
  Requests before and after it are measured as usual. [Failures](../../../docs/reference/failures.md) says when a run ends early.
- ` + "`pa-analyze report`" + ` counts failed requests by their status, and prints the first message of each.
  No figure includes the latency of a failed request.
- If some requests fail and others succeed, the exit code is 0 and pa-record prints a warning with the numbers. The
  column *exit code* is for a run in which every request suffers the fault. ` + "`--max-error-rate`" + ` gives exit code 3.
- *Kept* lists the times of the row: the start of the request, the first byte of the answer, and a time for each response.
  A response is an event of a stream, a message of gRPC, or a whole body. In the tests a good stream has three.
- *Over* is the transport ` + "(`--transport loop` or `nethttp`, `--http2`)" + ` for OpenAI servers, or Triton's protocol.
  *gRPC* is a stream (` + "`-i grpc --streaming`" + `), and *gRPC unary* makes a call for each request.

`

// writeFaultsPage returns the page for the groups, whose rows were recorded.
func writeFaultsPage(groups []faultGroup) string {
	var b strings.Builder
	b.WriteString(faultsHead)
	for i := range groups {
		g := &groups[i]
		fmt.Fprintf(&b, "## %s\n\n", g.title)
		if g.intro != "" {
			fmt.Fprintf(&b, "%s\n\n", g.intro)
		}
		fmt.Fprintf(&b, "| %s | over | status | message | kept | exit code | what to do |\n|---|---|---|---|---|---|---|\n", g.column())
		for j := range g.faults {
			f := &g.faults[j]
			for k := range f.rows {
				r := &f.rows[k]
				does, advice := f.does, f.advice
				if k > 0 {
					does = ""
				}
				exit := "1"
				if r.status == export.StatusOK {
					exit, advice = "0", ""
				}
				status := r.class()
				if r.resent {
					status += ", `resent`"
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", does, r.over(), status, cell(r.message), r.kept, exit, advice)
			}
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// column returns the title of the column of faults.
func (g *faultGroup) column() string {
	if g.sends {
		return "the server sends"
	}
	return "the server"
}

// over lists the vias of the row.
func (r *faultRow) over() string {
	if len(r.vias) == len(vias) {
		return "all"
	}
	var names []string
	for _, v := range vias {
		if slices.Contains(r.vias, v) {
			names = append(names, string(v))
		}
	}
	return strings.Join(names, ", ")
}

// longestCell bounds a message on the page, in bytes.
const longestCell = 300

// cell returns the beginning of a message as code in a table of Markdown.
func cell(message string) string {
	if message == "" {
		return ""
	}
	if len(message) > longestCell {
		message = strings.ToValidUTF8(message[:longestCell], "") + "…"
	}
	return "`" + strings.ReplaceAll(strings.ReplaceAll(message, "|", `\|`), "`", "'") + "`"
}
