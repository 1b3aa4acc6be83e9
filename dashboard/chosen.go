package dashboard

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/perdure/perdure/internal/human"
)

// pick is the parameter with the workflow ID of a run that is chosen in the list.
const pick = "pick"

// chooser is the form for the runs that are chosen in the list.
type chooser struct {
	Operations [][2]string // names and labels
	Hidden     [][2]string // the filter; operations on calls apply only to those that it selects
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
