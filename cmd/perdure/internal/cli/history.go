package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func historyCommand(scr *screen, db *source) *cobra.Command {
	var opt historyOptions
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
		Args:              arguments,
		ValidArgsFunction: db.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			part, err := opt.selected()
			switch {
			case err != nil:
				return err
			case opt.record && part != view.HistoryRange{}:
				return usage("Leave out --record, or the part.", "--record writes the whole history.")
			case opt.record:
				return record(scr, db, cmd.Context(), args[0], run)
			}
			return showHistory(scr, db, cmd.Context(), args[0], run, part)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opt.record, "record", false, "write one document for replay")
	opt.flags(cmd, "the number of a turn, or an event in it, as 17.3", "")
	flags.Int64Var(&opt.call, "call", 0, "only events of the call with this `number`")
	run.flag(cmd)
	return cmd
}

// historyOptions are the flags of history.
type historyOptions struct {
	part
	record bool
	call   int64
}

func (opt *historyOptions) selected() (r view.HistoryRange, err error) {
	switch {
	case opt.check() != nil:
		return r, opt.check()
	case opt.call < 0:
		return r, noCall(opt.call)
	case r.After.UnmarshalText([]byte(opt.after)) != nil:
		return r, usage("Write the number of a turn, and with a point that of an event in it: 17 or 17.3.", "%q is not the number of a turn or event.", opt.after)
	}
	r.Call, r.Limit = opt.call, opt.limit
	return r, nil
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

func showHistory(scr *screen, db *source, ctx context.Context, id string, run whichRun, part view.HistoryRange) error {
	return db.withRun(ctx, id, func(e *perdure.Engine) error {
		limit := part.Limit
		p, err := inParts(scr, limit, nil, func(last *eventView, n int) ([]eventView, error) {
			if part.Limit = n; last != nil {
				part.After = last.Place()
			}
			events, err := run.of(e, id).HistoryRange(ctx, part)
			return eventViews(events), run.explain(db, id, err)
		})
		if err != nil || scr.format != formatTable {
			return err
		}
		now := scr.env.Now()
		table := scr.table("TURN", "TIME", "EVENT", "CALL", "NAME", "DETAIL")
		table.Right(0, 3)
		for _, ev := range p.rows {
			detail, err := eventDetail(ev.Event)
			if err != nil {
				return err
			}
			call := ""
			if ev.Call > 0 {
				call = fmt.Sprint(ev.Call)
			}
			table.Row(fmt.Sprint(ev.Turn), term.Either{Long: human.Time(ev.Time), Short: human.Clock(ev.Time, now)}, ev.Kind, call, ev.Name, detail)
		}
		if err := table.Write(scr.out); err != nil || !p.more {
			return err
		}
		scr.tellMore(limit, p.last.Place().String())
		return nil
	})
}

// recorded is the part of an event that its detail shows.
type recorded struct {
	Input     value         `json:"input"`
	Result    value         `json:"result"`
	Failure   *failure      `json:"failure"`
	Policy    *retry.Policy `json:"policy"`
	Due       int64         `json:"due"`
	Attempt   int           `json:"attempt"`
	Node      string        `json:"node"`
	ID        string        `json:"id"`
	Initiator string        `json:"initiator"`
	Previous  string        `json:"previous"`
	FirstTurn int64         `json:"first_turn"`
	Reason    string        `json:"reason"`
	Version   int           `json:"version"`

	Operation string `json:"operation"`
	By        string `json:"by"`
	Outcome   string `json:"outcome"`
	Note      string `json:"note"`
	Child     *struct {
		Run           string `json:"run"`
		Status        string `json:"status"`
		OnParentClose string `json:"on_parent_close"`
	} `json:"child"`
	Parent *struct {
		WorkflowID string `json:"workflow_id"`
		Call       int64  `json:"call"`
		Detached   bool   `json:"detached"`
	} `json:"parent"`
	ErrorType string `json:"error_type"`
	Retry     *struct {
		Attempts      int    `json:"total_attempts"`
		MS            int64  `json:"total_duration_ms"`
		LastError     string `json:"last_error"`
		LastErrorType string `json:"last_error_type"`
	} `json:"retry"`
}

// failure is an error in an event.
type failure struct {
	Type    string     `json:"type"`
	Message string     `json:"message"`
	Causes  []*failure `json:"causes"`
}

// last returns the failure of the last attempt, without the wrapper for exhausted attempts.
func (f *failure) last() *failure {
	if f.Type == retry.TypeExhausted && len(f.Causes) > 0 {
		return f.Causes[0]
	}
	return f
}

// value is a payload in an event.
type value struct {
	JSON     json.RawMessage `json:"json"`
	Encoding string          `json:"encoding"`
	Bytes    []byte          `json:"bytes"`
	Locked   string          `json:"locked"`
}

func (v value) String() string {
	switch {
	case v.JSON != nil:
		return string(v.JSON)
	case v.Locked != "":
		return "(" + v.Locked + ")"
	case v.Encoding != "":
		return fmt.Sprintf("(%s, %d bytes)", v.Encoding, len(v.Bytes))
	}
	return ""
}

// eventDetail describes an event in one line.
func eventDetail(ev view.Event) (string, error) {
	raw, err := ev.MarshalJSON()
	if err != nil {
		return "", err
	}
	var r recorded
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", fmt.Errorf("the event of turn %d cannot be read: %w", ev.Turn, err)
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	for _, s := range []string{r.Operation, r.Outcome, r.Note} {
		if s != "" {
			add("%s", s)
		}
	}
	if r.By != "" {
		add("by %s", r.By)
	}
	if s := r.Input.String(); s != "" {
		add("input %s", s)
	}
	if s := r.Result.String(); s != "" {
		add("result %s", s)
	}
	if r.Failure != nil {
		add("%s", wording.Typed(r.ErrorType, r.Failure.Message))
	}
	if r.Policy != nil {
		add("policy %s", *r.Policy)
	}
	if r.Version > 0 {
		add("version %d", r.Version)
	}
	if r.Due > 0 {
		add("due %s", human.Time(time.Unix(0, r.Due)))
	}
	if r.Attempt > 0 && r.Node != "" {
		add("attempt %d on %s", r.Attempt, r.Node)
	}
	if r.Previous != "" {
		add("after run %s", r.Previous)
	}
	if r.Initiator != "" {
		add("by %s", r.Initiator)
	}
	if r.FirstTurn > 0 {
		add("begins %s", human.Time(time.Unix(0, r.FirstTurn)))
	}
	switch {
	case ev.Kind == "RunContinued":
		add("as attempt %d of run %s", r.Attempt, r.ID)
	case r.ID != "":
		add("id %s", r.ID)
	}
	if c := r.Child; c != nil {
		if c.Status != "" {
			add("child %s", c.Status)
		}
		add("run %s", c.Run)
		if c.OnParentClose != "" {
			add("on parent close: %s", c.OnParentClose)
		}
	}
	if p := r.Parent; p != nil {
		add("started by %s", parentOf(p.WorkflowID, p.Call, p.Detached))
	}
	if r.Reason != "" {
		add("reason %s", r.Reason)
	}
	r.tellAttempts(add)
	return strings.Join(parts, ", "), nil
}

// tellAttempts says how many attempts a call had, and how the last failed one failed,
// unless the event's failure says it.
func (r *recorded) tellAttempts(add func(format string, args ...any)) {
	s := r.Retry
	if s == nil {
		return
	}
	if s.Attempts > 1 {
		add("%d attempts in %s", s.Attempts, human.Duration(time.Duration(s.MS)*time.Millisecond))
	}
	switch {
	case s.LastError == "":
	case r.Failure == nil:
		add("last error %s", wording.Typed(s.LastErrorType, s.LastError))
	case s.LastErrorType != r.ErrorType && s.LastErrorType != retry.TypeError:
		add("the last error is %s", s.LastErrorType)
	}
}
