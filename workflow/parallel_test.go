package workflow_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestE48_MapBeginsSomeAtATime: with a limit no more items are under way at once, they
// begin in their order, and the results and the first error are those of their items.
func TestE48_MapBeginsSomeAtATime(t *testing.T) {
	for _, limit := range []int{1, 3, 10, 50} {
		_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
			items := make([]int, 10)
			for i := range items {
				items[i] = i
			}
			open, most := 0, 0
			var begun []int
			got, err := workflow.Map(wf, items, func(wf *workflow.Context, n int) (string, error) {
				open++
				most = max(most, open)
				begun = append(begun, n)
				err := workflow.Sleep(wf, time.Duration(1+n%3)*time.Minute)
				open--
				if n == 4 || n == 7 {
					return "", fmt.Errorf("no %d", n)
				}
				return fmt.Sprint("done ", n), err
			}, workflow.Limit(limit))
			if !slices.IsSorted(begun) || len(begun) != 10 || most != min(limit, 10) || got[9] != "done 9" || got[4] != "" {
				log("began %v, %d at once, %q", begun, most, got)
			}
			log("%v", err)
			return "", nil
		})
		expect(t, log, "item 4: no 4")
	}
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		_, err := workflow.Map(wf, []int{1}, func(*workflow.Context, int) (int, error) { return 1, errors.New("it ran") }, workflow.Limit(0))
		none, empty := workflow.Map(wf, nil, func(*workflow.Context, int) (int, error) { return 1, nil }, workflow.Limit(5))
		log("%v %v %d %v", strings.Contains(err.Error(), "the limit is 0; use 1 or more"), retry.IsTerminal(err), len(none), empty)
		return "", nil
	})
	expect(t, log, "true true 0 <nil>")
}
