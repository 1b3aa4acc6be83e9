package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/human"
)

// pick is the parameter with the workflow ID of a run that is chosen in the list.
const pick = "pick"

// chooser is the form for the runs that are chosen in the list.
type chooser struct {
	Operations [][2]string // names and labels
	Hidden     [][2]string // the filter; operations on calls apply only to those that it selects
}

func newChooser(f runFilter) *chooser {
	return &chooser{offered(f), pairs(f.query())}
}

// chosenIn returns the runs that an address chooses, without duplicates.
func chosenIn(v url.Values) ([]string, error) {
	ids := slices.Clone(v[pick])
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
	if len(ids) > pageRuns {
		return nil, &badRequest{fmt.Sprintf("%s are chosen; at most %d can be.", human.Plural(len(ids), "run", "runs"), pageRuns), "Operate on all that the list selects, or choose fewer."}
	}
	return ids, nil
}

// many reports whether the target is or may be more than one run.
func (t *target) many() bool { return t.all || t.picked > 0 }

// posted returns the target that a form sends. The address names it; for many runs it names
// the selection of the dry run that was shown. The list sends the first form for chosen
// runs entirely in the body, because an address would be too long.
func (q *request) posted() (t target, err error) {
	v := q.URL.Query()
	if q.PostForm.Has("op") {
		v = q.PostForm
	}
	if t, err = targetOf(v); err != nil {
		return t, err
	}
	t.selection = q.PostForm.Get("selection")
	if q.PostForm.Get("show") != "" {
		t.give(q.PostForm)
	}
	return t, nil
}

// shown reports whether the sender has seen the form with what is selected.
func (t *target) shown(form url.Values) bool {
	return form.Get("show") == "" && (!t.many() || t.selection != "" || t.all && form.Get("unnamed") != "")
}

// says describes what is selected.
func (t *target) says() string {
	if t.picked == 0 {
		return t.filter.says()
	}
	text := human.Plural(t.picked, "run", "runs") + " that you have chosen"
	if calls := t.calls(); t.op.OnCalls() && len(calls.States) > 0 {
		text += ", and of these the calls in state " + strings.Join(calls.States, " or ")
	}
	return text
}
