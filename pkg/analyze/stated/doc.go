// Package stated holds the results of tools that state figures and keep no requests, such as vllm bench serve without
// --save-detailed: it reports and compares what they state.
//
//	r, err := opener.Open(ctx, path)
//	if s := new(stated.Error); errors.As(err, &s) {
//		err = stated.Report([]*stated.Result{s.Result}).In("text", 0)(os.Stdout)
//	}
//
// A figure has the name that its tool gives it, and is compared with figures of the same name and tool only: two tools that
// write TPOT rarely mean the same. Numbers keep the digits of the file. Without requests nothing tells chance from change, so
// comparisons have no intervals and no verdict.
package stated
