package cli

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// workflowList is a list of what one workflow has, which may be long: it is read in parts.
type workflowList[T any] struct {
	// read returns up to n elements of a run after the last one that it returned, nil for the
	// beginning of the part that is wanted.
	read    func(ctx context.Context, h perdure.Handle[json.RawMessage], last *T, n int) ([]T, error)
	selects func(*T) bool         // nil: all
	place   func(last *T) string  // behind which the next part begins
	none    func(read int) string // says that nothing is selected of what was read; nil: the table is empty
	table   func(*screen, []T)
	// ofChain names an element, as in "a step", if people who want the whole list are shown that of
	// each run of a workflow that went on as new.
	ofChain string
}

// show shows at most so many elements of a workflow, or of one of its runs. A limit of 0 is none.
func (l *workflowList[T]) show(scr *screen, db *source, ctx context.Context, id string, run whichRun, limit int) error {
	return db.withRun(ctx, id, func(e *perdure.Engine) error {
		if l.ofChain != "" && run.id == "" && limit == 0 && scr.format == formatTable {
			switch runs, err := continuedRuns(ctx, e, id); {
			case err != nil:
				return err
			case len(runs) > 0:
				return l.showRuns(scr, ctx, e, id, runs)
			}
		}
		p, err := l.part(scr, ctx, run.of(e, id), limit)
		switch {
		case err != nil:
			return run.explain(db, id, err)
		case scr.format != formatTable:
			return nil
		case len(p.rows) == 0 && l.none != nil:
			scr.printf("%s\n", l.none(p.read))
			return nil
		}
		if l.table(scr, p.rows); p.more {
			scr.printf("\nThere are more than these %d. To see the next ones: --after %s\n", limit, l.place(p.last))
		}
		return nil
	})
}

func (l *workflowList[T]) part(scr *screen, ctx context.Context, h perdure.Handle[json.RawMessage], limit int) (partial[T], error) {
	return inParts(scr, limit, l.selects, func(last *T, n int) ([]T, error) { return l.read(ctx, h, last, n) })
}

// showRuns shows the list of each run of a workflow that went on as new, in their order.
func (l *workflowList[T]) showRuns(scr *screen, ctx context.Context, e *perdure.Engine, id string, runs []view.ChainRun) error {
	found := false
	for _, run := range runs {
		p, err := l.part(scr, ctx, e.Workflow(id).OfRun(run.RunID), 0)
		if err != nil {
			return err
		}
		if len(p.rows) == 0 {
			continue
		}
		found = true
		scr.printf("Run %d of the workflow, %s, since %s:\n\n", run.Number, run.RunID, human.Time(run.Created))
		l.table(scr, p.rows)
		scr.printf("\n")
	}
	if before := runs[0].Number - 1; before > 0 {
		scr.printf("%s before these; see: --run ID\n", human.Plural(before, "run is", "runs are"))
	}
	if !found {
		scr.printf("None of the runs of workflow %s has %s that matches.\n", id, l.ofChain)
	}
	return nil
}

// continuedRuns returns the runs of a workflow that went on as new by itself, the oldest
// first and the one of now last; none if it did not. Together they are what a person means
// by the workflow.
func continuedRuns(ctx context.Context, e *perdure.Engine, id string) ([]view.ChainRun, error) {
	d, err := e.Workflow(id).Describe(ctx)
	if err != nil {
		return nil, err
	}
	first := len(d.Chain) - 1
	for first > 0 && d.Chain[first-1].Status == view.StatusContinued {
		first--
	}
	if first < 0 || first == len(d.Chain)-1 {
		return nil, nil
	}
	return d.Chain[first:], nil
}
