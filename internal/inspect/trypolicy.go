package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/policylab"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TryPolicy replays the calls in the ledger under another policy. It reads one partition
// after the other, latest attempts first. It keeps the attempts of calls until it reaches
// their first attempt: at most as many calls as were in progress at one time.
func (in *Inspector) TryPolicy(ctx context.Context, policy retry.Policy, filter view.TrialFilter) (*view.PolicyTrial, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	if s, u := bound(filter.Since), bound(filter.Until); u != 0 && s >= u {
		return nil, &history.InputError{What: "span of time", Problem: fmt.Sprintf("is empty: it begins at %s and ends at %s", filter.Since.UTC().Format(time.RFC3339), filter.Until.UTC().Format(time.RFC3339))}
	}
	t := trying{in: in, filter: filter, lab: policylab.New(policy, in.now(), in.draw)}
	for _, partition := range in.group.All() {
		if err := t.partition(ctx, partition); err != nil {
			return nil, err
		}
	}
	out := t.lab.Report()
	out.Workflow, out.Activity, out.Read, out.LeftOut = filter.Workflow, filter.Activity, t.read, t.leftOut
	out.Since, out.Until = optional(bound(filter.Since)), optional(bound(filter.Until))
	var err error
	out.FirstTry, err = in.firstTries(ctx, filter)
	return out, err
}

// firstTries returns how many calls succeeded at their first attempt.
func (in *Inspector) firstTries(ctx context.Context, filter view.TrialFilter) (n int64, err error) {
	of := filter.Workflow
	if of == view.FlowWorkflow { // counted by their files
		of = ""
	}
	counted, err := in.counted(ctx, store.TallyFilter{Type: of, Name: filter.Activity, From: bound(filter.Since), Until: bound(filter.Until)})
	for i := range counted {
		t := &counted[i]
		others := t.Name == "" || of != filter.Workflow && t.Type != view.FlowWorkflow && !strings.HasSuffix(t.Type, view.FlowEnding)
		if !others && (filter.Activity != "" || t.Name != core.BlockName) {
			n += t.FirstTry
		}
	}
	return n, err
}

// trying is a trial in progress.
type trying struct {
	in     *Inspector
	filter view.TrialFilter
	lab    *policylab.Lab
	open   map[callKey]*policylab.Call // calls of the current partition whose first attempt was not read yet

	read, leftOut int
}

// ledgerPage is how many attempts one query reads.
const ledgerPage = 2000

func (t *trying) partition(ctx context.Context, partition int) error {
	t.open = map[callKey]*policylab.Call{}
	f := store.LedgerFilter{
		Partitions: []int{partition}, Name: t.filter.Activity, From: bound(t.filter.Since), Limit: ledgerPage,
	}
	f.Type, f.Attributes = ofWorkflow(t.filter.Workflow, nil, "")
	for {
		entries, err := t.in.db.Ledger(ctx, f)
		if err != nil {
			return err
		}
		for i := range entries {
			if err := t.add(&entries[i]); err != nil {
				return err
			}
		}
		if len(entries) < ledgerPage {
			break
		}
		last := entries[len(entries)-1].Key()
		f.Before = &last
	}
	for _, c := range t.open {
		if until := bound(t.filter.Until); until == 0 || c.Attempts[len(c.Attempts)-1].Ended < until {
			t.leftOut++
		}
	}
	return nil
}

// add processes an attempt. The first attempt of a call comes last.
func (t *trying) add(e *store.LedgerEntry) error {
	if e.Name == core.BlockName && t.filter.Activity == "" {
		return nil // its tries contain the attempts of other calls
	}
	t.read++
	var d core.AttemptDetail
	if err := history.Unseal(e.Data, &d); !readable(err) {
		return history.Damaged(fmt.Sprintf("the record of attempt %d of call %d of run %s", e.Number, e.Call, e.Run), err)
	}
	ref := callKey{e.Run, e.Call}
	c := t.open[ref]
	if c == nil {
		c = &policylab.Call{WorkflowID: e.WorkflowID, RunID: e.Run, Name: oneCopy(e.Name), Number: e.Call}
		t.open[ref] = c
	}
	c.Attempts = append(c.Attempts, attempted(&e.Attempt, &d))
	if e.Number > 1 {
		return nil
	}
	delete(t.open, ref)
	if until := bound(t.filter.Until); until != 0 && e.Ended >= until {
		return nil
	}
	slices.Reverse(c.Attempts)
	c.First = c.Attempts[0].Queued
	if d.Totals != nil && d.Totals.First != 0 {
		c.First = d.Totals.First
	}
	t.lab.Add(c)
	return nil
}

func attempted(a *store.Attempt, d *core.AttemptDetail) policylab.Attempt {
	out := policylab.Attempt{
		Number: a.Number, Outcome: core.Outcome(oneCopy(a.Outcome)), ErrorType: oneCopy(a.ErrorType), Reason: retry.Reason(oneCopy(a.Reason)),
		Paused: d.Pause, Queued: d.Queued, Started: a.Started, Ended: a.Ended, Next: d.Next, Question: d.Question,
	}
	if out.Outcome != core.Failed && out.Outcome != core.TimedOut {
		return out
	}
	if out.Failure = d.Judged; out.Failure == nil {
		out.Failure = core.JudgedBy(out.Outcome, out.ErrorType, out.Reason, d.Delay)
	}
	for i, name := range out.Failure.Types {
		out.Failure.Types[i] = oneCopy(name)
	}
	return out
}

// oneCopy returns the one copy of a text that stands in many records.
func oneCopy(text string) string { return unique.Make(text).Value() }
