package dashboard

import (
	"cmp"
	"errors"
	"html/template"
	"slices"
	"strconv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// The calls on the page of a run: those that are open, with what can be done about them, and the
// sums of those that have ended.

type callRow struct {
	Key          string
	Call         int64
	Kind, Name   string
	State        string
	Attempt      string
	Until, Since *stamp
	Child        *linked
	ChildStatus  string
	Node         string
	Error        folded
	Gate, Queue  *linked // where it waits
	Notes        []note
	Policy       string
	Heartbeat    folded
	Buttons      []button
}

// note is something that is to be known of a call, with the time that it is about.
type note struct {
	Text  string
	Time  *stamp // may be nil
	After string
}

type sumRow struct {
	Call                                      int64
	Name, Outcome                             string
	Attempts, Failed, TimedOut, Lost, NotKept int
	Run, Backoff, Took                        string
	Last                                      *stamp
	Error                                     folded
	Link                                      template.URL
}

func rowOfCall(q *request, d *view.Description, c *view.Call) callRow {
	row := callRow{
		Key: strconv.FormatInt(c.Call, 10), Call: c.Call, Kind: c.Kind, Name: c.Name, State: c.State, Attempt: wording.Attempt(c), Until: q.until(c.Next), Since: q.ago(&c.Scheduled),
		Node: c.Node, Policy: c.Policy, Error: fold(wording.Typed(c.LastErrorType, c.LastError), ""),
	}
	if c.Child != nil {
		to := runLink(c.Child.WorkflowID, c.Child.RunID)
		row.Child, row.ChildStatus = &to, c.Child.Status
	}
	if c.Heartbeat != nil {
		row.Heartbeat = fold(indented(*c.Heartbeat), link("text", "id", d.WorkflowID, "run", d.RunID, "what", "heartbeat", "number", row.Key))
	}
	if c.Queue != "" {
		row.Queue = &linked{wording.AtQueue(c, q.now), link("nodes")}
	}
	say := func(text string, at *stamp, after string) { row.Notes = append(row.Notes, note{text, at, after}) }
	if g := c.Gate; g != nil {
		row.Gate = &linked{wording.AtGate(g), link("gate", "name", g.Name)}
		if row.Until == nil {
			row.Until = q.until(g.OpenUntil)
		}
	}
	if w := c.Paused; w != nil && c.State != view.CallInDoubt {
		say("paused", q.ago(&w.Since), wording.ByAndWhy(w.By, w.Why))
	}
	if w := c.ActivityPaused; w != nil {
		say("the activity was paused on all nodes", q.ago(&w.Since), wording.ByAndWhy(w.By, w.Why))
	}
	if c.TimesOut != nil {
		say("the attempt times out", q.until(c.TimesOut), "")
	}
	if c.Deadline != nil {
		say("the last attempt may start", q.until(c.Deadline), "")
	}
	if c.LostToCrashes > 0 {
		say(human.Plural(c.LostToCrashes, "attempt was", "attempts were")+" lost with the process that ran it", nil, "")
	}
	if c.State == view.CallQuarantined {
		say("quarantined, because it "+wording.Crashed(c.Crashes, nil, q.now), q.ago(c.Crashed), "")
		w := view.Wait{For: view.WaitQuarantined, Crashes: c.Crashes, NoOtherBuild: c.NoOtherBuild}
		for _, step := range wording.Steps(&w) {
			if step.Do == "" {
				say(step.Says, nil, "")
			}
		}
	}
	if doubt := c.Doubt; doubt != nil {
		why := ""
		if doubt.Error != c.LastError { // which stands above
			why = human.Clip(doubt.Error, 200)
		}
		say(wording.Doubted(doubt)+",", q.ago(cmp.Or(doubt.Ended, doubt.Started)), why)
		if asked := wording.Asked(doubt); asked != "" {
			say(asked, nil, "")
		}
	}
	if c.LastHeartbeat != nil {
		say("last heartbeat", q.ago(c.LastHeartbeat), "")
	}
	if q.operator() && d.Closed == nil {
		row.Buttons = append(callButtons(d.WorkflowID, c), activityButton(c)...)
	}
	return row
}

// childWaits adds what the children wait for, which is what their parent waits for.
func childWaits(q *request, p *runPage) error {
	looked := 0
	for i := range p.Pending {
		row := &p.Pending[i]
		if row.Child == nil || looked == mostChildren {
			continue
		}
		looked++
		d, err := q.engine.Workflow(row.Child.Text).Describe(q.ctx)
		if errors.Is(err, perdure.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		child := q.node(d, 0)
		if child.Waits != "" {
			row.Notes = append(row.Notes, note{Text: "where it stands:", After: child.Waits})
		}
		if child.Why != "" {
			row.Error = fold(child.Why, "")
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
			Call: c.Call, Name: c.Name, Outcome: cmp.Or(open[c.Call], c.Outcome), Attempts: c.Attempts, Failed: c.Failed, TimedOut: c.TimedOut, Lost: c.Lost, NotKept: c.NotKept,
			Run: human.Duration(c.Run), Last: q.ago(c.Last), Error: fold(wording.Error(c), ""),
			Link: link("attempts", "id", id, "run", run, "number", strconv.FormatInt(c.Call, 10)),
		}
		if c.Backoff > 0 {
			row.Backoff = human.Duration(c.Backoff)
		}
		if c.First != nil && c.Last != nil {
			end := *c.Last
			if open[c.Call] != "" {
				end = q.now
			}
			row.Took = human.Duration(end.Sub(*c.First))
		}
		p.Calls = append(p.Calls, row)
	}
}
