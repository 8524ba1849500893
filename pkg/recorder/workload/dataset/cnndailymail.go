package dataset

import "github.com/pa-tools/pa/pkg/recorder/workload"

// cnnDailyMail is the layout of articles with summaries:
//
//	{"article": "…", "highlights": "…", "id": "…"}
type cnnDailyMail struct{ o *Options }

func fitsCNNDailyMail(r *row, _ *file) bool { return r.has("article") }

func newCNNDailyMail(_ *file, o *Options) layout { return cnnDailyMail{o} }

func (l cnnDailyMail) entries(r *row, _ int) ([]workload.Entry, error) {
	return readQuestion(r, "", "article", "highlights", l.o)
}
