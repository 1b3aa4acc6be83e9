package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// linked is a text with a link.
type linked struct {
	Text string
	Link template.URL
}

// overviewPage shows the result of ops.Status.
type overviewPage struct {
	Headline string
	Served   bool
	Open     amount // of runs, if no node serves
	Group    string
	Tiles    []tile
	Hours    *barChart // of the last day; nil if nothing happened
	Waiting  []*waitingRow
	Keys     []view.KeyWait
	Changes  []string
	Errors   []*errorRow
	Failed   []view.Run
	Nodes    []view.Node
}

type tile struct {
	Name string
	amount
	Tone string
	Link template.URL
}

// amount is how many there are, 0 if that is not counted.
type amount struct {
	N    int
	More bool // or more
}

func amountOf(c *view.Counts, n int) amount { return amount{n, c.More(n)} }

// waitingRow is something that waits, with what can be done about it.
type waitingRow struct {
	*view.Waiting
	Mark  string       // grave: it needs attention; held: a person made it wait; empty: it ends by itself
	All   template.URL // the runs, if the list can select them
	What  linked
	Steps []linked
}

// errorRow is an error of the last hour; one that is no error is called by what happened.
type errorRow struct {
	*view.ErrorTrend
	Type, Message string
	Runs, Ledger  template.URL
}

// Trend says how often it came, compared with the hour before; "" if only the latest of each hour
// were counted.
func (r *errorRow) Trend() string {
	if r.AtLeast {
		return ""
	}
	return []string{"falling", "as before", "rising"}[1+cmp.Compare(r.Attempts, r.Before)]
}

// Arrow is the sign of the trend.
func (r *errorRow) Arrow() string {
	return []string{"↓", "=", "↑"}[1+cmp.Compare(r.Attempts, r.Before)]
}

func overview(q *request) (any, error) {
	s, err := ops.Status(q.ctx, q.engine)
	if err != nil {
		return nil, err
	}
	q.now = s.Time
	p := &overviewPage{Served: s.Served, Group: "this database", Headline: "All is well"}
	if s.Group != "" {
		p.Group = fmt.Sprintf("the group %q", s.Group)
	}
	grave := 0
	for i := range s.Waiting {
		if s.Waiting[i].NeedsAttention() {
			grave++
		}
	}
	if grave > 0 {
		p.Headline = human.Plural(grave, "thing needs attention", "things need attention")
	}
	if !s.Served {
		p.Headline = "No node serves " + p.Group
		for _, status := range wording.OpenStatuses {
			p.Open.N += s.Runs[status]
			p.Open.More = p.Open.More || s.More(s.Runs[status])
		}
	}
	p.Tiles = tiles(s)
	for i := range s.Waiting {
		p.Waiting = append(p.Waiting, rowOfWaiting(q, &s.Waiting[i]))
	}
	if p.Hours, err = lastDay(q, "", ""); err != nil {
		return nil, err
	}
	p.Keys, p.Changes, p.Failed, p.Nodes = s.Keys, wording.Changes(s, s.Time), s.Failed, s.Nodes
	for i := range s.Errors {
		p.Errors = append(p.Errors, rowOfError(&s.Errors[i]))
	}
	return p, nil
}

// servesOf says what a process serves.
func servesOf(n *view.Node) string {
	var parts []string
	if !n.Worker {
		parts = append(parts, human.Plural(n.Partitions, "partition", "partitions"))
	}
	for _, served := range n.Queues {
		parts = append(parts, "queue "+served.Queue)
	}
	return strings.Join(parts, ", ")
}

// tiles returns the counts that people look for first, with links to their lists. Those that are
// expected stay if they are 0, so that a page without trouble has them alone; completed runs that
// are not counted have no tile.
func tiles(s *view.Status) []tile {
	runs := func(name, status string) tile {
		return tile{name, amountOf(&s.Counts, s.Runs[status]), tone(status), link("runs", "status", status)}
	}
	calls := func(name, state string) tile {
		return tile{name, amountOf(&s.Counts, s.Calls[state]), tone(state), link("runs", "call", state)}
	}
	all := []tile{
		runs("running", view.StatusRunning),
		calls("calls in backoff", view.CallBackoff),
		calls("calls at gates", view.CallGated),
		calls("calls in queues", view.CallOffered),
		calls("calls in line", view.CallQueued),
		calls("calls paused", view.CallPaused),
		calls("quarantined", view.CallQuarantined),
		runs("runs paused", view.StatusPaused),
		runs("without code", view.StatusWaitingForCode),
		runs("parked", view.StatusParked),
		runs("failed", view.StatusFailed),
		runs("completed", view.StatusCompleted),
	}
	return slices.DeleteFunc(all, func(t tile) bool {
		return t.N == 0 && t.Name != "running" && t.Name != "failed" && (t.Name != "completed" || s.Most > 0)
	})
}

func rowOfWaiting(q *request, w *view.Waiting) *waitingRow {
	row := &waitingRow{Waiting: w, What: linked{Text: cmp.Or(wording.GateAndKeys(w), w.Queue, w.Name)}, Steps: nextSteps(q, w)}
	switch {
	case w.NeedsAttention():
		row.Mark = "grave"
	case !w.ByItself():
		row.Mark = "held"
	}
	switch {
	case w.Gate != "":
		row.What.Link = link("gate", "name", w.Gate)
	case w.Queue != "":
		row.What.Link = link("nodes")
	}
	status, state := wording.WaitingRuns[w.For], wording.WaitingCalls[w.For]
	switch {
	case w.Count == 0:
	case w.For == view.WaitBuild:
		row.All = link("runs", "status", view.StatusRunning, "workflow", w.Name)
	case status != "" && w.Call == 0:
		row.All = link("runs", "status", status)
	case state != "":
		row.All = link("runs", "call", state)
	}
	return row
}

// nextSteps are what a person can do about what waits, the safest first: forms that first say
// what they will do, or what is to be done elsewhere.
func nextSteps(q *request, w *view.Waiting) (all []linked) {
	for _, step := range wording.Steps(&w.Wait) {
		switch {
		case step.Do == "":
			all = append(all, linked{Text: strings.ToUpper(step.Says[:1]) + step.Says[1:]})
		case q.operator() && (w.Count > 0 || w.Gate != "" || step.Do == wording.DoResumeActivity):
			all = append(all, stepLink(w, step.Do))
		}
	}
	return all
}

// stepLink returns the link to the form of a step.
func stepLink(w *view.Waiting, do string) linked {
	gate := func(text, do string) linked {
		return linked{text, link("change", "kind", "gate", "do", do, "name", w.Gate)}
	}
	switch do {
	case wording.DoResumeActivity:
		return linked{"Resume", link("change", "kind", "activity", "do", "resume", "name", w.Name)}
	case wording.DoResumeGate:
		return gate("Resume", "resume")
	case wording.DoProbeGate:
		return gate("Probe", "probe")
	}
	op, err := operationNamed(do)
	if err != nil {
		panic(err) // the table of steps names operations
	}
	if op.OnCalls() {
		return linked{op.Label, link("operate", "op", op.Name, "all", "yes", "call", wording.WaitingCalls[w.For], "name", w.Name)}
	}
	return linked{op.Label, link("operate", "op", op.Name, "all", "yes", "status", wording.WaitingRuns[w.For], "workflow", w.Name)}
}

func rowOfError(t *view.ErrorTrend) *errorRow {
	if t.Outcome == view.OutcomeLost {
		runs := link("ledger", "activity", t.Name, "outcome", view.OutcomeLost, "since", "6h")
		return &errorRow{t, wording.Lost, wording.LostMessage, runs, runs}
	}
	return &errorRow{t, t.ErrorType, t.Example.Message, link("runs", "error_type", t.ErrorType), link("ledger", "activity", t.Name, "since", "6h")}
}

// runLink returns a link to a run.
func runLink(id, run string) linked { return linked{id, link("run", "id", id, "run", run)} }
