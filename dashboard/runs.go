package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// pageRuns is how many runs a page shows.
const pageRuns = 50

var callStates = append([]string{view.CallRetrying}, wording.FoundStates...)

// runFilter selects runs, as in the address of the list.
type runFilter struct {
	listing.Runs
	listing.ByCalls
	listing.ByText
}

func filterOf(v url.Values) (f runFilter, err error) {
	if err = readFilter(v, &f); f.Retrying { // one of the states that can be chosen
		f.Call, f.Retrying = view.CallRetrying, false
	}
	return f, err
}

// query returns the filter as parameters of an address.
func (f runFilter) query() url.Values { return param.Query(&f) }

// filter returns the filter for the engine, without the text.
func (f runFilter) filter() (view.Filter, error) {
	by := f.ByCalls
	if by.Call == view.CallRetrying {
		by.Call, by.Retrying = "", true
	}
	out, err := f.Runs.Filter(&by)
	return out, notRead(err)
}

// says describes the filter.
func (f runFilter) says() string {
	var parts []string
	add := func(format, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add("that are %s", strings.Join(f.Status, " or "))
	add("of workflow %s", f.Workflow)
	add("with key %s", f.Key)
	add("whose ID begins with %s", f.Prefix)
	add("in which %q occurs", f.Text)
	add("with a call that is %s", f.Call)
	add("with a call whose latest error is %s", f.ErrorType)
	add("with %s", strings.ReplaceAll(f.Attributes.String(), "\n", " and "))
	add("since %s", f.Since.Written)
	add("until %s", f.Until.Written)
	if len(parts) == 0 {
		return "all runs"
	}
	return "runs " + strings.Join(parts, ", ")
}

// runsPage is the list of runs.
type runsPage struct {
	Filter   runFilter
	Says     string
	Statuses []choice
	Calls    []choice
	Tabs     []listTab
	Rows     []*runRow
	Hours    *barChart // of the last day, if one workflow is asked for
	Retrying bool
	More     bool // a less common filter is set
	Empty    string
	Pager    *pager
	Bulk     []linked
	Choose   *chooser // nil if the caller may not operate
}

// choice is a value that can be chosen.
type choice struct {
	Value  string
	Chosen bool
	amount
}

// listTab is a frequently used list.
type listTab struct {
	Name    string
	Link    template.URL
	Current bool
}

// pager has links to other pages of a list: the previous one, or the first if the previous
// one is unknown, and the next.
type pager struct {
	First, Prev, Next template.URL
	Text              string
	Of                string // what the pages are of; empty: the list that the page shows
}

// part returns which of n elements the page shows that the address asks for, each page with so many,
// and links to the pages around it.
func (q *request) part(n, size int, to func(from string) template.URL) (begin, end int, p *pager) {
	begin, _ = strconv.Atoi(q.URL.Query().Get("from"))
	begin = max(0, min(begin, n-1)) / size * size
	end, p = min(n, begin+size), &pager{}
	if begin > 0 {
		p.Prev = to(strconv.Itoa(begin - size))
	}
	if end < n {
		p.Next = to(strconv.Itoa(end))
	}
	return begin, end, p
}

// Others reports whether there are other pages.
func (p *pager) Others() bool { return p.First+p.Prev+p.Next != "" }

// runRow is a run in the list.
type runRow struct {
	*view.Run
	Badge string // the status, or what the only call waits for, if that is a person
	At    string // the call, or the gate
}

// Why says why it waits, or how it ended.
func (r *runRow) Why() string {
	if r.Wait != nil {
		return wording.Why(r.Wait)
	}
	return cmp.Or(wording.Typed(r.ErrorType, r.Error), r.Reason)
}

func runsList(q *request) (any, error) {
	f, err := filterOf(q.URL.Query())
	if err != nil {
		return nil, err
	}
	filter, err := f.filter()
	if err != nil {
		return nil, err
	}
	before := q.URL.Query().Get("before")
	filter.Text, filter.Before = f.Text, before
	if len(f.Status) == 0 && f.Call == "" {
		filter.Status = wording.LastStatuses
	}
	runs, next, err := q.list(filter)
	if err != nil {
		return nil, err
	}
	p := &runsPage{Filter: f, Says: f.says(), Retrying: f.Call == view.CallRetrying || f.Call == view.CallBackoff, Tabs: tabs(f), Empty: "No run is like that."}
	if len(f.query()) == 0 && before == "" {
		p.Empty = "There is no run yet."
	}
	p.More = f.Workflow+f.Key+f.ErrorType+f.Since.Written+f.Until.Written != "" || len(f.Attributes) > 0
	var counts view.Counts // of all runs: they say nothing of those that something else selects, too
	if v := f.query(); len(v) == 0 || len(v) == 1 && (v.Has("status") || v.Has("call")) {
		if counts, err = ops.Counts(q.ctx, q.engine, view.MaxCounted); err != nil {
			return nil, err
		}
		if v.Has("status") {
			counts.Calls = nil
		} else if v.Has("call") {
			counts.Runs = nil
		}
	}
	for _, s := range wording.Statuses {
		p.Statuses = append(p.Statuses, choice{s, slices.Contains(f.Status, s), amountOf(&counts, counts.Runs[s])})
	}
	for _, s := range callStates {
		p.Calls = append(p.Calls, choice{s, f.Call == s, amountOf(&counts, counts.Calls[s])})
	}
	for i := range runs {
		p.Rows = append(p.Rows, rowOfRun(&runs[i]))
	}
	if f.Workflow != "" && before == "" {
		if p.Hours, err = lastDay(q, f.Workflow, ""); err != nil {
			return nil, err
		}
	}
	p.Pager = &pager{Text: human.Plural(len(runs), "run", "runs") + " on this page, newest first"}
	if next != "" && len(runs) < pageRuns {
		p.Pager.Text += "; older ones are not searched yet"
		p.Empty = "No run is like that among the newest. The next page has older ones."
	}
	if next != "" {
		v := f.query()
		v.Set("before", next)
		p.Pager.Next = linkTo("runs", v)
	}
	if before != "" {
		p.Pager.First = linkTo("runs", f.query())
	}
	if q.operator() && len(runs) > 0 {
		p.Choose = &chooser{offered(f), pairs(f.query())}
		if f.Text == "" { // what is searched for a text is not all that has it
			p.Bulk = bulkLinks(f)
		}
	}
	return p, nil
}

// tabs returns the frequently used lists.
func tabs(f runFilter) []listTab {
	var out []listTab
	for _, t := range []struct {
		name, call string
		status     []string
	}{
		{"All", "", nil},
		{"Open", "", wording.OpenStatuses},
		{"Retrying", view.CallRetrying, nil},
		{"Paused calls", view.CallPaused, nil},
		{"Quarantined", view.CallQuarantined, nil},
		{"Parked", "", []string{view.StatusParked, view.StatusWaitingForCode}},
		{"Failed", "", []string{view.StatusFailed, view.StatusTimedOut}},
		{"Completed", "", []string{view.StatusCompleted}},
	} {
		same := t.call == f.Call && slices.Equal(t.status, f.Status)
		keep := f // the search is kept
		keep.Call, keep.Status = t.call, t.status
		out = append(out, listTab{t.name, linkTo("runs", keep.query()), same})
	}
	return out
}

// list reads a page of runs with what they wait for. It returns the run before which the
// next page begins.
func (q *request) list(f view.Filter) (runs []view.Run, next string, err error) {
	f.Waits, f.Limit = true, pageRuns+1
	page, err := ops.Search(q.ctx, q.engine, f)
	if len(page.Runs) > pageRuns {
		return page.Runs[:pageRuns], page.Runs[pageRuns-1].RunID, err
	}
	return page.Runs, page.Searched, err
}

func rowOfRun(r *view.Run) *runRow {
	row := &runRow{Run: r, Badge: r.Status}
	if w := r.Wait; w != nil {
		if r.Status == view.StatusRunning && w.Others == 0 && (w.For == view.WaitQuarantined || w.For == view.WaitPaused) {
			row.Badge = w.For
		}
		if w.Name != r.Workflow {
			row.At = cmp.Or(w.Gate, w.Queue, w.Name)
		}
	}
	return row
}
