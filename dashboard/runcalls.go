package dashboard

import (
	"cmp"
	"errors"
	"html/template"
	"slices"
	"strconv"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// The calls on the page of a run: those that are open, with what can be done about them, and the
// sums of those that have ended.

type callRow struct {
	*view.Call
	Until   *time.Time // when it continues
	Tries   string     // which attempt it is at
	Error   string
	AtQueue string         // where its attempts are
	Notes   []wording.Fact // what is to be known of it
	Beat    folded
	Buttons []button
}

// Number is that of the call.
func (r *callRow) Number() int64 { return r.Call.Call }

// sumRow is a call with its state, if it is open, or how it ended.
type sumRow struct {
	view.CallAttempts
	State string
	End   *time.Time // until when it took; nil if that is not known
	Link  template.URL
}

func rowOfCall(q *request, d *view.Description, c *view.Call) *callRow {
	row := &callRow{Call: c, Until: c.Next, Tries: wording.Attempt(c), Error: wording.Typed(c.LastErrorType, c.LastError)}
	if c.Heartbeat != nil {
		row.Beat = fold(indented(*c.Heartbeat), link("text", "id", d.WorkflowID, "run", d.RunID, "what", "heartbeat", "number", strconv.FormatInt(c.Call, 10)))
	}
	if c.Queue != "" {
		row.AtQueue = wording.AtQueue(c, q.now)
	}
	if c.Gate != nil {
		row.Until = cmp.Or(c.Next, c.Gate.OpenUntil)
	}
	say := func(f wording.Fact) { row.Notes = append(row.Notes, f) }
	if w := c.Paused; w != nil && c.State != view.CallInDoubt {
		say(wording.Fact{Text: "paused", At: &w.Since, By: w.By, Why: w.Why})
	}
	if w := c.ActivityPaused; w != nil {
		say(wording.Fact{Text: "the activity was paused on all nodes", At: &w.Since, By: w.By, Why: w.Why})
	}
	if c.TimesOut != nil {
		say(wording.Fact{Text: "the attempt times out", At: c.TimesOut, Due: true})
	}
	if c.Deadline != nil {
		say(wording.Fact{Text: "the last attempt may start", At: c.Deadline, Due: true})
	}
	if c.LostToCrashes > 0 {
		say(wording.Fact{Text: human.Plural(c.LostToCrashes, "attempt was", "attempts were") + " lost with the process that ran it"})
	}
	if c.State == view.CallQuarantined {
		say(wording.Fact{Text: "quarantined, because it " + wording.Crashed(c.Crashes, nil, q.now), At: c.Crashed})
		w := view.Wait{For: view.WaitQuarantined, Crashes: c.Crashes, NoOtherBuild: c.NoOtherBuild}
		for _, step := range wording.Steps(&w) {
			if step.Do == "" {
				say(wording.Fact{Text: step.Says})
			}
		}
	}
	if doubt := c.Doubt; doubt != nil {
		f := wording.Fact{Text: wording.Doubted(doubt) + ",", At: cmp.Or(doubt.Ended, doubt.Started)}
		if doubt.Error != c.LastError { // which stands above
			f.Note = human.Clip(doubt.Error, 200)
		}
		if say(f); wording.Asked(doubt) != "" {
			say(wording.Fact{Text: wording.Asked(doubt)})
		}
	}
	if c.LastHeartbeat != nil {
		say(wording.Fact{Text: "last heartbeat", At: c.LastHeartbeat})
	}
	if q.operator() && d.Closed == nil {
		row.Buttons = append(callButtons(d.WorkflowID, c), activityButton(c)...)
	}
	return row
}

// childWaits adds what the children wait for, which is what their parent waits for.
func childWaits(q *request, p *runPage) error {
	looked := 0
	for _, row := range p.Open {
		if row.Child == nil || looked == mostChildren {
			continue
		}
		looked++
		d, err := q.engine.Workflow(row.Child.WorkflowID).Describe(q.ctx)
		if errors.Is(err, perdure.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		child := q.node(d, 0)
		if child.Waits != "" {
			row.Notes = append(row.Notes, wording.Fact{Text: "where it stands:", Note: child.Waits})
		}
		if child.Why != "" {
			row.Error = child.Why
		}
	}
	return nil
}

func (q *request) sums(p *runPage, o *view.Overview, id, run string) {
	open := map[int64]string{} // the latest attempt of an open call does not show the call's state
	for i := range o.Description.Pending {
		c := &o.Description.Pending[i]
		open[c.Call] = c.State
	}
	calls := o.Calls
	slices.SortStableFunc(calls, func(a, b view.CallAttempts) int { return cmp.Compare(b.Attempts, a.Attempts) })
	p.MoreCalls = max(0, len(calls)-mostSums)
	calls = calls[:min(len(calls), mostSums)]
	slices.SortFunc(calls, func(a, b view.CallAttempts) int { return cmp.Compare(a.Call, b.Call) })
	for i := range calls {
		c := &calls[i]
		row := sumRow{
			CallAttempts: *c, State: cmp.Or(open[c.Call], c.Outcome), End: c.Last, Link: link("attempts", "id", id, "run", run, "number", strconv.FormatInt(c.Call, 10)),
		}
		if open[c.Call] != "" && c.Last != nil {
			row.End = &q.now
		}
		p.Calls = append(p.Calls, row)
	}
}
