package dashboard

import (
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// attemptsPage shows the attempts of a run.
type attemptsPage struct {
	Run   linked
	Parts []listTab
	Tabs  []listTab
	Rows  []view.Attempt
	Empty string
	Pager *pager
}

func (p *attemptsPage) title() string { return "Attempts of " + p.Run.Text }

func attemptsList(q *request) (any, error) {
	h, id, run, err := q.which()
	if err != nil {
		return nil, err
	}
	v := q.URL.Query()
	number, only := v.Get("number"), v.Get("only")
	call, err := numbered(number)
	if err != nil {
		return nil, err
	}
	var after view.AttemptPlace
	if after.UnmarshalText([]byte(v.Get("after"))) != nil {
		return nil, &badRequest{fmt.Sprintf("%q is not the number of a step or attempt.", v.Get("after")), "It is the number of a call, and with a point that of an attempt, as in 17.3."}
	}
	p := &attemptsPage{Run: runLink(id, run), Parts: runParts("attempts", id, run), Empty: "There is no such attempt.", Pager: &pager{}}
	for _, t := range []struct{ name, only string }{{"All", ""}, {"Failed", "failed"}} {
		p.Tabs = append(p.Tabs, listTab{t.name, link("attempts", "id", id, "run", run, "number", number, "only", t.only), only == t.only})
	}
	rows, next, err := someAttempts(q, h, view.AttemptRange{After: after, Call: call}, only != "")
	if err != nil {
		return nil, err
	}
	p.Rows = rows
	p.Pager.Text = human.Plural(len(rows), "attempt", "attempts")
	if n := len(rows); n > 0 {
		first, last := &rows[0], &rows[n-1]
		if first.Call == last.Call {
			p.Pager.Text += fmt.Sprintf(", %d to %d of call %d", first.Number, last.Number, last.Call)
		} else {
			p.Pager.Text += fmt.Sprintf(", %d of call %d to %d of call %d", first.Number, first.Call, last.Number, last.Call)
		}
	}
	if after != (view.AttemptPlace{}) {
		p.Pager.First = link("attempts", "id", id, "run", run, "number", number, "only", only)
	}
	if next != (view.AttemptPlace{}) {
		p.Pager.Next = link("attempts", "id", id, "run", run, "number", number, "only", only, "after", next.String())
		if len(rows) < pageEvents {
			p.Pager.Text += "; those that follow are not searched yet"
			p.Empty = "None of these attempts failed. The next page has those that follow."
		}
	}
	return p, nil
}

// someAttempts reads a page of attempts, or of those that neither run nor completed. It
// returns the place after which the next page begins, zero if there is none. It looks at a
// few thousand completed attempts at most.
func someAttempts(q *request, h perdure.Handle[view.Payload], part view.AttemptRange, failed bool) (rows []view.Attempt, next view.AttemptPlace, err error) {
	part.Limit = pageEvents + 1
	for looked := 0; ; {
		some, err := h.AttemptsRange(q.ctx, part)
		if err != nil {
			return nil, next, err
		}
		more := len(some) == part.Limit
		for i := range some {
			a := &some[i]
			if failed && (a.Outcome == view.OutcomeCompleted || a.Outcome == view.OutcomeRunning) {
				continue
			}
			if len(rows) == pageEvents {
				return rows, rows[pageEvents-1].Place(), nil
			}
			rows = append(rows, *a)
		}
		if !more {
			return rows, next, nil
		}
		part.After = some[len(some)-1].Place()
		if looked += len(some); looked >= aheadEvents {
			return rows, part.After, nil
		}
		part.Limit = blockEvents
	}
}
