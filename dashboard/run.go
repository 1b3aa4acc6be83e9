package dashboard

import (
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// runPage shows a run and its state.
type runPage struct {
	*view.Description
	Badge             string               // the status, or that of the calls at which it stands still
	Done              []view.ControlRecord // the outcome of the form that led here
	Hold              *hold
	Buttons           []button
	Facts             []fact
	Values            []namedText
	Causes            []wording.Cause
	StackText         folded
	Timeline          *timeline
	Open              []*callRow
	MorePending       int
	Calls             []sumRow
	MoreCalls         int
	Audit             []view.ControlRecord
	MoreAudit         int
	Parts             []listTab
	History, Attempts template.URL
}

func (p *runPage) title() string { return p.WorkflowID }

// fact is a line about a run, a gate or a schedule.
type fact struct {
	wording.Fact
	Link template.URL
}

// factsOf are facts as a page shows them.
func factsOf(facts []wording.Fact) (all []fact) {
	for _, f := range facts {
		one := fact{Fact: f}
		switch {
		case f.WorkflowID != "":
			one.Link = runLink(f.WorkflowID, f.RunID).Link
		case f.Name == "attribute":
			one.Link = link("runs", "attribute", f.Text)
		}
		all = append(all, one)
	}
	return all
}

type namedText struct {
	Name string
	Text folded
}

// hold says why an open run cannot continue.
type hold struct {
	What, Why    string
	Do           string // sentences
	Expect, Asks string // for code that does not fit
}

// runParts are the pages about one run, for the tabs that they share.
func runParts(here, id, run string) (all []listTab) {
	for _, p := range []struct{ path, name string }{{"run", "Run"}, {"history", "History"}, {"attempts", "Attempts"}, {"tree", "Children"}} {
		all = append(all, listTab{p.name, link(p.path, "id", id, "run", run), p.path == here})
	}
	return all
}

// which returns the run that the address names.
func (q *request) which() (h perdure.Handle[view.Payload], id, run string, err error) {
	id, run = q.URL.Query().Get("id"), q.URL.Query().Get("run")
	if id == "" {
		return h, "", "", &badRequest{"The address does not name a run.", "Choose one in the list of runs."}
	}
	return perdure.Attach[view.Payload](q.engine, id).OfRun(run), id, run, nil
}

func showRun(q *request) (any, error) {
	h, id, run, err := q.which()
	if err != nil {
		return nil, err
	}
	o, err := h.Overview(q.ctx)
	if err != nil {
		return nil, err
	}
	d := o.Description
	p := &runPage{
		Description: d, Badge: standing(d), Hold: q.holdOf(d), Facts: q.facts(d), Values: values(d, run), Causes: wording.Causes(d.Failure),
		Parts: runParts("run", id, run), History: link("history", "id", id, "run", run), Attempts: link("attempts", "id", id, "run", run),
	}
	p.StackText = fold(wording.Stack(d), link("text", "id", id, "run", run, "what", "stack"))
	if q.operator() && (run == "" || d.Next == "") {
		p.Buttons = runButtons(d)
	} else if d.Next == "" {
		p.Buttons = changeButtons(command.Runs, id, "query") // which changes nothing
	}
	p.Timeline = q.timeline(d, o.Attempts)
	p.MorePending = max(0, len(d.Pending)-mostPending)
	for i := range d.Pending[:len(d.Pending)-p.MorePending] {
		p.Open = append(p.Open, rowOfCall(q, d, &d.Pending[i]))
	}
	if err := childWaits(q, p); err != nil {
		return nil, err
	}
	q.sums(p, o, id, run)
	q.records(p, o.Audit)
	return p, nil
}

// facts returns the facts about a run, each for one line.
func (q *request) facts(d *view.Description) []fact {
	facts := wording.RunFacts(d)
	if d.Attempt > 1 {
		facts = append(facts, wording.Fact{Name: "attempt of the run", Text: strconv.Itoa(d.Attempt)})
	}
	if d.HistoryLength > 0 {
		facts = append(facts, wording.Fact{Name: "events", Text: human.Count(d.HistoryLength)})
	}
	if d.Reason != "" {
		facts = append(facts, wording.Fact{Name: "reason", Text: d.Reason})
	}
	all := factsOf(facts)
	for _, o := range q.outside {
		if to := o.of(d); to != "" {
			all = append(all, fact{Fact: wording.Fact{Name: "see", Text: "its " + o.name}, Link: to})
		}
	}
	return all
}

// values returns the payloads of a run.
func values(d *view.Description, run string) (all []namedText) {
	for _, name := range []string{"input", "memo", "result"} {
		if p := payloadOf(d, name); p != nil && !p.Absent() {
			all = append(all, namedText{name, fold(indented(*p), link("text", "id", d.WorkflowID, "run", run, "what", name))})
		}
	}
	return all
}

// payloadOf returns a payload of a run by its name, nil if it has none.
func payloadOf(d *view.Description, name string) *view.Payload {
	return map[string]*view.Payload{"input": &d.Input, "memo": &d.Memo, "result": d.Result}[name]
}

// standing returns the status of a run; of one that is running although all its open calls wait
// for a person, the state of the calls.
func standing(d *view.Description) string {
	if d.Status != view.StatusRunning || len(d.Pending) == 0 {
		return d.Status
	}
	state := view.CallPaused
	for i := range d.Pending {
		switch d.Pending[i].State {
		case view.CallQuarantined:
			state = view.CallQuarantined
		case view.CallPaused:
		default:
			return d.Status
		}
	}
	return state
}

// holdOf returns why an open run cannot continue, or does not; nil if it can.
func (q *request) holdOf(d *view.Description) *hold {
	if h := wording.HoldOf(d); h != nil {
		reason := ""
		if d.Reason != "" && d.Damage == nil && d.Mismatch == nil {
			reason = human.Sentence(d.Reason)
		}
		out := &hold{What: h.What, Why: h.Why, Do: strings.Join(nonEmpty(append(h.Do, reason, wording.Needed(d, q.now))...), " ")}
		if m := h.Difference; m != nil {
			out.Expect, out.Asks = eventText(m.Expected), eventText(m.Actual)
		}
		return out
	}
	switch {
	case d.Closed != nil:
	case d.Paused != nil:
		return &hold{What: "Paused " + wording.ByAndWhy(d.Paused.By, d.Paused.Why), Why: "Since " + human.Time(d.Paused.Since) + ". It continues when it is resumed."}
	case d.Wait != nil && d.Wait.Gate != "":
		return &hold{What: "It has not begun: " + wording.Unbegun(d.Wait) + ".", Why: "It begins when one of them has ended."}
	}
	return nil
}

func eventText(e *view.Event) string {
	if e == nil {
		return "(nothing more)"
	}
	return human.Clip(string(e.Record), 2000)
}

// mostChildren is how many open children the page of their parent looks into: the first.
const mostChildren = 5

// mostPending is how many open calls the page of a run shows: the first ones.
const mostPending = 100

// mostSums is how many calls the page of a run sums up: those with the most attempts.
const mostSums = 25

// mostAudit is how many audit entries the page of a run shows: the latest ones.
const mostAudit = 50

// records adds the audit, latest first, and which of its entries the form that led here
// caused.
func (q *request) records(p *runPage, audit []view.ControlRecord) {
	key := q.URL.Query().Get("request")
	p.MoreAudit = max(0, len(audit)-mostAudit)
	for i := len(audit) - 1; i >= 0; i-- {
		r := &audit[i]
		if key != "" && r.Request == key && len(p.Done) < shownRecords {
			p.Done = append(p.Done, *r)
		}
		if len(p.Audit) < mostAudit {
			p.Audit = append(p.Audit, *r)
		}
	}
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}
