package inspect

import (
	"context"
	"strings"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// textPage is how many runs a search for a text reads at a time.
const textPage = 500

// byText returns a page of the runs in which a text occurs, newest first. If most is set it looks
// at that many runs at most, and returns the last of them if there are more.
func (in *Inspector) byText(ctx context.Context, f store.Filter, text string, waits bool, most int) (found []view.Run, stopped string, err error) {
	text = strings.ToLower(text)
	want, looked := store.Page(f.Limit), 0
	for f.Limit = textPage; ; {
		rows, err := in.db.List(ctx, f)
		if err != nil {
			return nil, "", err
		}
		var some []store.Run
		for i := range rows {
			if looked++; hasText(&rows[i], text) {
				some = append(some, rows[i])
			}
			full := len(found)+len(some) == want
			if more := len(rows) == textPage || i+1 < len(rows); looked == most && more && !full {
				stopped = rows[i].ID
			}
			if full || stopped != "" {
				break
			}
		}
		shown, err := in.shownRuns(ctx, some, waits)
		if found = append(found, shown...); err != nil || stopped != "" || len(found) == want || len(rows) < textPage {
			return found, stopped, err
		}
		f.Before = rows[len(rows)-1].ID
	}
}

// hasText reports whether a text in small letters occurs in what is known of a run by its row.
func hasText(row *store.Run, text string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	if has(row.WorkflowID) {
		return true
	}
	for _, value := range record.Attributes(row.Attributes) {
		if has(value) {
			return true
		}
	}
	value := func(p history.Payload) bool { return p.Encoding == history.EncodingJSON && has(payload(p).String()) }
	if start, err := record.Start(row); readable(err) && (value(start.Input) || value(start.Memo)) {
		return true
	}
	d, err := core.DecodeDetail(row.Detail)
	if !readable(err) {
		return false
	}
	return has(d.Says) || d.Result != nil && value(*d.Result) || d.Failure != nil && has(d.Failure.Message)
}
