package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// whichRun is the flag that selects an earlier run of a chain.
type whichRun struct{ id string }

func (w *whichRun) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.id, "run", "", "`ID` of an earlier run of the chain; see: perdure show")
}

// of returns the handle to a workflow, or to one of its runs.
func (w *whichRun) of(e *perdure.Engine, id string) perdure.Handle[json.RawMessage] {
	return e.Workflow(id).OfRun(w.id)
}

// explain says that the run, not the workflow, does not exist.
func (w *whichRun) explain(db *source, workflow string, err error) error {
	if w.id == "" || !errors.Is(err, perdure.ErrNotFound) {
		return err
	}
	return failure(exitNotFound, "See which ones it has: "+db.sameDatabase("perdure show", workflow),
		"Workflow %q has no run %q.", workflow, w.id)
}

// chain shows the runs of a chain and marks this one.
func chain(scr *screen, d *view.Description) {
	if len(d.Chain) == 0 {
		return
	}
	table := scr.titled("Runs"+earlier(d.Chain), "", "\tNO", "RUN", "STARTED AS", "\tATTEMPT", "STATUS", "STARTED", "ENDED", "ERROR")
	table.Indent = "  "
	for _, run := range d.Chain {
		here, began, ended, why := "", run.Created, "", run.Initiator
		if run.RunID == d.RunID {
			here = ">"
		}
		if run.FirstTurn != nil {
			began = *run.FirstTurn
		}
		if run.Closed != nil {
			ended = human.Time(*run.Closed)
		}
		why = cmp.Or(why, "start")
		table.Row(here, fmt.Sprint(run.Number), run.RunID, why, fmt.Sprint(run.Attempt), status(run.Status),
			human.Time(began), ended, wording.Typed(run.ErrorType, run.Error))
	}
	table.Write(scr.out)
}

// earlier says that there were runs before those shown.
func earlier(runs []view.ChainRun) string {
	if n := runs[0].Number - 1; n > 0 {
		return fmt.Sprintf(", the last %d of %d", len(runs), n+len(runs))
	}
	return ""
}
