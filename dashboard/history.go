package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// pageEvents is how many events, calls or attempts a page shows.
const pageEvents = 200

// historyPage is the history of a run, with a row per event or per call.
type historyPage struct {
	Run     linked
	Parts   []listTab
	Tabs    []listTab
	Compact bool
	Events  []eventRow
	Pager   *pager
	Empty   string
	Record  template.URL // of the whole history as a file
}

func (p *historyPage) title() string { return "History of " + p.Run.Text }

type eventRow struct {
	Place  string // place of the event
	Turn   int64
	Time   time.Time
	Kind   string
	Call   int64
	Name   string
	Ended  string // how a call ended; empty if it is open or the row is an event
	Took   string
	Tone   string
	Detail folded
}

// lineOf describes an event in a line. What cannot be read of it is shown when it is opened.
func lineOf(e *view.Event) string {
	said, _ := wording.EventOf(e)
	return said.String()
}

func history(q *request) (any, error) {
	h, id, run, err := q.which()
	if err != nil {
		return nil, err
	}
	v := q.URL.Query()
	call, err := numbered(v.Get("call"))
	if err != nil {
		return nil, err
	}
	p := &historyPage{Run: runLink(id, run), Parts: runParts("history", id, run), Compact: v.Get("form") != "full", Empty: "There is no such event.",
		Record: link("text", "id", id, "run", run, "what", "record")}
	p.Tabs = []listTab{
		{"One row per call", link("history", "id", id, "run", run, "call", v.Get("call")), p.Compact},
		{"Every event", link("history", "id", id, "run", run, "call", v.Get("call"), "form", "full"), !p.Compact},
	}
	var after view.Place
	if after.UnmarshalText([]byte(v.Get("after"))) != nil {
		return nil, &badRequest{fmt.Sprintf("%q is not the number of a turn or event.", v.Get("after")), "It is the number of a turn, such as 17."}
	}
	read := everyEvent
	if p.Compact {
		read = eventsByCall
	}
	next, err := read(q, p, h, view.HistoryRange{After: after, Call: call}, runRef{id, run})
	if err != nil {
		return nil, err
	}
	p.Pager = historyPager(p, v, after, next)
	return p, nil
}

// turnsBack is how many turns before a page its "Previous" page begins. Turns usually have
// few events, and the pages may overlap.
const turnsBack = 100

// historyPager returns links to the previous and the next page.
func historyPager(p *historyPage, v url.Values, after, next view.Place) *pager {
	to := func(after view.Place) template.URL {
		return link("history", "id", v.Get("id"), "run", v.Get("run"), "call", v.Get("call"), "form", v.Get("form"), "after", after.String())
	}
	g := &pager{Text: "no events"}
	if back := after.Turn - turnsBack; back > 0 {
		g.Prev = to(view.Place{Turn: back, Event: view.EndOfTurn})
	} else if after != (view.Place{}) {
		g.Prev = to(view.Place{})
	}
	if next != (view.Place{}) {
		g.Next = to(next)
	}
	if n := len(p.Events); n > 0 {
		what := human.Plural(n, "event", "events")
		if p.Compact {
			what = human.Plural(n, "row", "rows")
		}
		g.Text = fmt.Sprintf("%s, turns %s to %s", what, human.Count(int(p.Events[0].Turn)), human.Count(int(p.Events[n-1].Turn)))
	}
	return g
}

// everyEvent shows a part of the history and reads no more than that. It returns the place
// after which the next page begins, zero if there is none.
func everyEvent(q *request, p *historyPage, h perdure.Handle[view.Payload], part view.HistoryRange, of runRef) (next view.Place, err error) {
	part.Limit = pageEvents + 1
	events, err := h.HistoryRange(q.ctx, part)
	if len(events) > pageEvents {
		events = events[:pageEvents]
		next = events[pageEvents-1].Place()
	}
	for i := range events {
		p.Events = append(p.Events, rowOfEvent(&events[i], &events[i], of))
	}
	return next, err
}

// numbered returns the number of a call in an address, 0 if there is none.
func numbered(text string) (call int64, err error) {
	if text == "" {
		return 0, nil
	}
	if call, err = strconv.ParseInt(text, 10, 64); err != nil || call < 1 {
		return 0, &badRequest{fmt.Sprintf("%q is no number of a call.", text), "Calls are numbered from 1."}
	}
	return call, nil
}

func rowOfEvent(first, last *view.Event, of runRef) eventRow {
	row := eventRow{Place: last.Place().String(), Turn: first.Turn, Time: first.Time, Kind: first.Kind, Call: first.Call, Name: first.Name, Tone: eventTone(last.Kind)}
	text := lineOf(last)
	if first != last {
		row.Ended, row.Took = last.Kind, human.Duration(last.Time.Sub(first.Time))
		text = strings.Join(nonEmpty(lineOf(first), text), " → ")
	}
	all := link("text", "id", of.id, "run", of.run, "what", "event", "place", row.Place)
	whole := indentedJSON(last.Record)
	row.Detail = fold(whole, all)
	row.Detail.Head = cmp.Or(oneLine(text), "the record")
	row.Detail.Text = cmp.Or(row.Detail.Text, whole)
	return row
}

func eventTone(kind string) string {
	switch kind {
	case "CallCompleted", "RunCompleted", "UpdateCompleted", "TimerFired":
		return "good"
	case "CallFailed", "RunFailed", "RunTimedOut", "RunTerminated", "CallRefused":
		return "bad"
	case "CallControlled", "RunControlled":
		return "held"
	}
	return "calm"
}

// treePage shows a run with its parents and children.
type treePage struct {
	Run   linked
	Parts []listTab
	Up    []treeNode // parents, outermost first
	Tree  []treeNode // the run and its descendants, in order
	More  string     // what is omitted
}

func (p *treePage) title() string { return "Children of " + p.Run.Text }

type treeNode struct {
	Depth            int
	Run              linked
	Workflow, Status string
	Started          time.Time
	Waits, Why       string
	Here             bool
}

const (
	treeDepth = 8
	treeNodes = 200
	treeTurns = 5_000 // events of a run in which to look for children
)

func tree(q *request) (any, error) {
	h, _, run, err := q.which()
	if err != nil {
		return nil, err
	}
	d, err := h.Describe(q.ctx)
	if err != nil {
		return nil, err
	}
	p := &treePage{Run: runLink(d.WorkflowID, run), Parts: runParts("tree", d.WorkflowID, run)}
	for up := d.Parent; up != nil && len(p.Up) < treeDepth; {
		parent, err := q.engine.Workflow(up.WorkflowID).OfRun(up.RunID).Describe(q.ctx)
		if errors.Is(err, perdure.ErrNotFound) {
			p.Up = append([]treeNode{{Run: linked{Text: up.WorkflowID}, Status: "removed"}}, p.Up...)
			break
		}
		if err != nil {
			return nil, err
		}
		p.Up = append([]treeNode{q.node(parent, 0)}, p.Up...)
		up = parent.Parent
	}
	for i := range p.Up {
		p.Up[i].Depth = i
	}
	if err := growTree(q, p, d, len(p.Up)); err != nil {
		return nil, err
	}
	p.Tree[0].Here = true
	return p, nil
}

func (q *request) node(d *view.Description, depth int) treeNode {
	n := treeNode{Depth: depth, Run: runLink(d.WorkflowID, d.RunID), Workflow: d.Workflow, Status: d.Status, Started: d.Created, Why: wording.Typed(d.ErrorType, d.Error)}
	if len(d.Pending) > 0 {
		n.Waits = d.Pending[0].Name + " " + d.Pending[0].State
	}
	for i := range d.Pending {
		if c := &d.Pending[i]; c.LastError != "" {
			n.Waits, n.Why = c.Name+" "+c.State, wording.Typed(c.LastErrorType, c.LastError)
			break
		}
	}
	n.Why = human.Clip(n.Why, 300)
	return n
}

// growTree adds a run and, below it, the runs that it started.
func growTree(q *request, p *treePage, d *view.Description, depth int) error {
	p.Tree = append(p.Tree, q.node(d, depth))
	if depth >= treeDepth {
		return nil
	}
	children, whole, err := childrenOf(q, d)
	if err != nil {
		return err
	}
	if !whole {
		p.More = "Of runs with long histories only the children that are open are shown."
	}
	for _, c := range children {
		if len(p.Tree) >= treeNodes {
			p.More = fmt.Sprintf("Only the first %d runs are shown.", treeNodes)
			return nil
		}
		child, err := q.engine.Workflow(c).Describe(q.ctx)
		if errors.Is(err, perdure.ErrNotFound) {
			p.Tree = append(p.Tree, treeNode{Depth: depth + 1, Run: linked{Text: c}, Status: "removed"})
			continue
		}
		if err != nil {
			return err
		}
		if err := growTree(q, p, child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// childrenOf returns the workflow IDs of the runs that a run started; whole reports whether
// these are all.
func childrenOf(q *request, d *view.Description) (ids []string, whole bool, err error) {
	if d.HistoryLength > treeTurns {
		for i := range d.Pending {
			if c := d.Pending[i].Child; c != nil {
				ids = append(ids, c.WorkflowID)
			}
		}
		return ids, false, nil
	}
	events, err := q.engine.Workflow(d.WorkflowID).OfRun(d.RunID).History(q.ctx)
	if err != nil {
		return nil, false, err
	}
	for i := range events {
		if e := &events[i]; e.Kind == "ChildScheduled" || e.Kind == "DetachedScheduled" {
			if said, _ := wording.EventOf(e); said.ID != "" {
				ids = append(ids, said.ID)
			}
		}
	}
	return ids, true, nil
}
