package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// pick is the parameter with the workflow ID of a run that was chosen in the list.
const pick = "pick"

// chooser is the form for the runs that are chosen in the list.
type chooser struct {
	Operations [][2]string // name and label
	Hidden     [][2]string // the filter: of calls only those that it selects are meant
}

func newChooser(f runFilter) *chooser {
	c := &chooser{}
	for i := range operations {
		label := operations[i].label
		if operations[i].calls {
			label += " calls"
		}
		c.Operations = append(c.Operations, [2]string{operations[i].name, label})
	}
	for name, values := range f.query() {
		for _, value := range values {
			c.Hidden = append(c.Hidden, [2]string{name, value})
		}
	}
	slices.SortFunc(c.Hidden, func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	return c
}

// chosenIn are the runs that an address chooses, each once.
func chosenIn(v url.Values) ([]string, error) {
	ids := slices.Clone(v[pick])
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
	if len(ids) > pageRuns {
		return nil, &badRequest{fmt.Sprintf("%s are chosen; at most %d can be.", human.Plural(len(ids), "run", "runs"), pageRuns), "Operate on all that the list selects, or choose fewer."}
	}
	return ids, nil
}

// many reports whether it is about more than one run, or may be.
func (t *target) many() bool { return t.all || len(t.chosen) > 0 }

// says is what is selected, in words.
func (t *target) says() string {
	if len(t.chosen) == 0 {
		return t.filter.says()
	}
	text := human.Plural(len(t.chosen), "run", "runs") + " that you have chosen"
	if calls := t.calls(); t.op.calls && len(calls.States) > 0 {
		text += ", and of these the calls in state " + strings.Join(calls.States, " or ")
	}
	return text
}

// each does it to each of the chosen runs, side by side: the first without an engine holds
// the others not up. What one of them refuses is part of the result.
func (t *target) each(ctx context.Context, one carried) (result view.BulkResult, err error) {
	results, errs := make([]view.BulkResult, len(t.chosen)), make([]error, len(t.chosen))
	var all sync.WaitGroup
	for i, id := range t.chosen {
		all.Go(func() { results[i], errs[i] = one.on(ctx, id) })
	}
	all.Wait()
	for i := range t.chosen {
		records := results[i].Records
		refused, isRefused := errors.AsType[*view.RefusedError](errs[i])
		switch {
		case isRefused:
			records = []view.ControlRecord{refused.Record}
		case errors.Is(errs[i], perdure.ErrNotPending):
			records = nil
			result.NotPending++
		case errors.Is(errs[i], perdure.ErrClosed), errors.Is(errs[i], perdure.ErrNotFound):
			records = nil
			result.Ended++
		case errors.Is(errs[i], perdure.ErrNoAnswer):
			records = nil
			result.Unanswered++
			err = errs[i]
		case errs[i] != nil:
			return result, errs[i]
		}
		if len(records) > 0 {
			result.Runs++
		}
		if t.op.calls {
			result.Calls += len(records)
		}
		result.Records = append(result.Records, records...)
	}
	counts := map[string]*int{view.Applied: &result.Applied, view.Unchanged: &result.Unchanged, view.Refused: &result.Refused, view.NotPending: &result.NotPending}
	for i := range result.Records {
		if n := counts[result.Records[i].Outcome]; n != nil {
			*n++
		}
	}
	return result, err
}
