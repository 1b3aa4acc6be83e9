package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func historyCommand(scr *screen, db *source) *cobra.Command {
	var part view.HistoryRange
	var from partFlags
	var whole bool
	var run whichRun
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "Show the history of a workflow",
		Long: `Show the history of a workflow, in order: what happened to it and what its code asked
for. A workflow recovers from it after a crash. Attempts that failed and were retried are
not part of it; see: perdure attempts

A long history is read in parts: --limit events behind --after, which is the number of a turn,
or the place of an event in its turn, such as 17.3.

With --record the history is one JSON document as it is on record, which tests replay
against changed code (perduretest.Replay). In the output of -o json times and durations
are text.`,
		Example: `  perdure history order-17
  perdure history order-17 -o jsonl
  perdure history order-17 --after 400 --limit 50
  perdure history order-17 --record >testdata/order-17.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case part.Call < 0:
				return noCall(part.Call)
			case part.After.UnmarshalText([]byte(from.after)) != nil:
				return usage("Write the number of a turn, and with a point that of an event in it: 17 or 17.3.", "%q is not the number of a turn or event.", from.after)
			case whole && (part != view.HistoryRange{} || from.limit > 0):
				return usage("Leave out --record, or the part.", "--record writes the whole history.")
			case whole:
				return record(scr, db, cmd.Context(), args[0], run)
			}
			return historyOf(scr, part).show(scr, db, cmd.Context(), args[0], run, from.limit)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&whole, "record", false, "write one document for replay")
	from.flags(cmd, "the number of a turn, or an event in it, as 17.3", "")
	flags.Int64Var(&part.Call, "call", 0, "only events of the call with this `number`")
	run.flag(cmd)
	return cmd
}

// noCall returns an error for an invalid call number.
func noCall(n int64) error { return usage("Calls are numbered from 1.", "There is no call %d.", n) }

func record(scr *screen, db *source, ctx context.Context, id string, run whichRun) error {
	return db.withRun(ctx, id, func(e *perdure.Engine) error {
		document, err := run.of(e, id).Record(ctx)
		if err == nil {
			scr.json(document)
		}
		return run.explain(db, id, err)
	})
}

// historyOf is the list of the events of a workflow.
func historyOf(scr *screen, part view.HistoryRange) *workflowList[eventView] {
	return &workflowList[eventView]{
		table: eventTable, place: func(last *eventView) string { return last.Place().String() },
		read: func(ctx context.Context, h perdure.Handle[json.RawMessage], last *eventView, n int) ([]eventView, error) {
			next := part
			if next.Limit = n; last != nil {
				next.After = last.Place()
			}
			events, err := h.HistoryRange(ctx, next)
			if err != nil {
				return nil, err
			}
			return eventViews(events, scr.format == formatTable)
		},
	}
}

func eventTable(scr *screen, events []eventView) {
	now := scr.env.Now()
	table := scr.table("\tTURN", "TIME", "EVENT", "\tCALL", "NAME", "DETAIL")
	for _, ev := range events {
		table.Row(fmt.Sprint(ev.Turn), term.Either{Long: human.Time(ev.Time), Short: human.Clock(ev.Time, now)}, ev.Kind, unlessZero(ev.Call), ev.Name, ev.line)
	}
	table.Write(scr.out)
}
