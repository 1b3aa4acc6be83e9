package witness

import (
	"context"
	"fmt"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// Completions notes which calls were seen completed, and how long the book was
// when they were.
type Completions map[string]int // by idempotency key

// observe reads a run's history and notes the calls that are closed for good.
func (c Completions) observe(ctx context.Context, e *perdure.Engine, r Run, b *Book) error {
	var events []view.Event
	err := Patiently(ctx, func() (err error) {
		events, err = e.Workflow(r.ID).History(ctx)
		return err
	})
	if err != nil {
		return err
	}
	length := b.Length() // whatever is entered from here on was begun later
	for _, ev := range events {
		if ev.Kind == "CallCompleted" || ev.Kind == "CallFailed" || ev.Kind == "CallCanceled" {
			key := callKey(r, ev)
			if _, known := c[key]; !known {
				c[key] = length
			}
		}
	}
	return nil
}

// callKey is the idempotency key of the call that an event is about.
func callKey(r Run, e view.Event) string { return fmt.Sprintf("%s/%d", r.RunID, e.Call) }

// Case is what there is to judge at the end.
type Case struct {
	Engine  *perdure.Engine
	Entries []Entry
	Runs    []Run
	Closed  Completions
	Found   []Finding // by the clients

	// Zombies says that processes may have continued that others took for dead. What
	// they executed then, nobody could prevent; but it must be on record as lost.
	Zombies bool
	// Server says that the server is not ours, or that its clock was set: what the doctor says of
	// it does not count.
	Server bool
	// Limits says how many attempts of the queue each process that serves it runs at a time.
	// Without it, who does is not looked at.
	Limits map[string]int
	// Postings is the table of the bank; without it, nobody looks at it.
	Postings string
}

// Verdict is what came of it.
type Verdict struct {
	Found []Finding
	Tally Tally
}

// readers is how many runs are judged at a time.
const readers = 8

// Judge reads the book against what the engine itself has on record. Progress, if any, is told
// how many runs were read.
func (c Case) Judge(ctx context.Context, progress func(runs int)) Verdict {
	j := &judge{Case: c, ctx: ctx, lost: map[string]bool{}, bank: map[string]int{}, payments: paymentsIn(c.Entries), tally: newTally(c)}
	j.found = append(j.found, c.Found...)
	begun := map[string][]Entry{}
	for _, e := range c.Entries {
		if e.Phase == Begin {
			begun[e.Workflow] = append(begun[e.Workflow], e)
		}
	}
	next := make(chan Run)
	var reading sync.WaitGroup
	for range readers {
		reading.Go(func() {
			for r := range next {
				j.judgeLedger(r, begun[r.ID])
				j.judgeHistory(r)
			}
		})
	}
	for i, r := range c.Runs {
		if progress != nil {
			progress(i)
		}
		next <- r
	}
	close(next)
	reading.Wait()
	j.judgeOrder()
	j.judgeGate()
	j.judgeQueue()
	j.judgeBank()
	j.judgePayments()
	j.judgeDatabase()
	return Verdict{j.found, j.tally}
}

// judge is a case that is being judged.
type judge struct {
	Case
	ctx context.Context

	mu    sync.Mutex
	found []Finding
	lost  map[string]bool // attempts that were
	bank  map[string]int  // by the keys of calls that are on record as completed: sides posted
	tally Tally

	payments payments
}

func (j *judge) find(kind Kind, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.found = append(j.found, Finding{kind, fmt.Sprintf(format, args...)})
}

// judgeDatabase lets the doctor look for what is damaged, missing, left behind or belongs
// to nothing.
func (j *judge) judgeDatabase() {
	found, err := ops.Doctor(j.ctx, j.Engine, view.DoctorFilter{})
	if err != nil {
		j.find(Wrong, "%v", err)
		return
	}
	for _, f := range found.Findings {
		switch f.Kind {
		case view.FindingPool, view.FindingBlocking: // of other tests on the same server, at this moment
		case view.FindingClock, view.FindingTimeout, view.FindingVacuum:
			if !j.Server {
				j.find(Orphaned, "the doctor finds: %+v", f)
			}
		default:
			j.find(Orphaned, "the doctor finds: %+v", f)
		}
	}
}

// judgeOrder looks for executions that must not have been.
func (j *judge) judgeOrder() {
	runs := map[string]Run{}
	for _, r := range j.Runs {
		runs[r.ID] = r
	}
	attempts := map[string]bool{}
	number := map[string]int{}
	tags := map[string]string{}
	order := map[string]int{}
	for i, e := range j.Entries {
		if e.Phase != Begin {
			continue
		}
		r, known := runs[e.Workflow]
		tag, tagged := tags[e.Key]
		tags[e.Key] = e.Tag
		switch {
		case attempts[e.Attempt]:
			j.find(Doubled, "entry %d: attempt %s ran twice", i, e.Attempt)
		case !known:
			j.find(Doubled, "entry %d: nobody started %s", i, e.Workflow)
		case tagged && tag != e.Tag:
			j.find(Wrong, "entry %d: call %s was handed %q and then %q", i, e.Key, tag, e.Tag)
		case r.Tag != "" && e.Tag != r.Tag:
			j.find(Wrong, "entry %d: %s of %s was handed %q, and the workflow's result is %q", i, e.Step, e.Workflow, e.Tag, r.Tag)
		}
		attempts[e.Attempt] = true
		if j.Zombies && j.lost[e.Attempt] {
			continue
		}
		at, closed := j.Closed[e.Key]
		switch {
		case e.Number <= number[e.Key]:
			j.find(Doubled, "entry %d: call %s ran attempt %d after attempt %d", i, e.Key, e.Number, number[e.Key])
		case closed && i >= at:
			j.find(Doubled, "entry %d: call %s (%s of %s) ran in %s although it was closed at entry %d", i, e.Key, e.Step, e.Workflow, e.Process, at)
		case e.Step == "slow": // the loser of the race may be given up between its start and its entry
		case e.Order < order[e.Workflow]:
			j.find(Doubled, "entry %d: step %s of %s ran in %s again after a later one", i, e.Step, e.Workflow, e.Process)
		case known && i >= r.Over:
			j.find(Doubled, "entry %d: %s ran in %s after the end of %s was known", i, e.Step, e.Process, e.Workflow)
		}
		number[e.Key] = e.Number
		order[e.Workflow] = e.Order
	}
}

// judgeLedger looks for executions without a record, for gaps, and for calls that
// are on record as completed and that nobody executed. It notes which attempts
// were lost.
func (j *judge) judgeLedger(r Run, begun []Entry) {
	attempts, err := j.Engine.Workflow(r.ID).Attempts(j.ctx)
	if err != nil {
		j.find(Wrong, "%v", err)
		return
	}
	executed := map[string]string{} // by attempt, by whom
	for _, e := range begun {
		executed[e.Attempt] = e.Process
	}
	last := map[int64]view.Attempt{}
	for _, a := range attempts {
		before := last[a.Call]
		if a.Number != before.Number+1 {
			j.find(Lost, "%s: attempt %d of call %d follows attempt %d", r.ID, a.Number, a.Call, before.Number)
		}
		last[a.Call] = a
		if a.Outcome == "" || a.Reason == "" {
			j.find(Wrong, "%s: attempt %s has outcome %q and reason %q, want both", r.ID, a.ID, a.Outcome, a.Reason)
		}
		if _, ran := executed[a.ID]; a.Outcome == "completed" && !ran {
			j.find(Lost, "%s: attempt %s of %s is on record as completed and not in the book", r.ID, a.ID, a.Name)
		}
		j.judgePayment(fmt.Sprintf("%s/%d", r.RunID, a.Call), &a, &before)
		j.note(a)
		delete(executed, a.ID)
	}
	for attempt, process := range executed {
		j.find(Doubled, "%s: attempt %s of %s is in the book and not on record", r.ID, attempt, process)
	}
}

// judgeHistory looks for second results and for a second end.
func (j *judge) judgeHistory(r Run) {
	events, err := j.Engine.Workflow(r.ID).History(j.ctx)
	if err != nil {
		j.find(Wrong, "%v", err)
		return
	}
	closed := map[int64]string{}
	turn := int64(0)
	for i, e := range events {
		if e.Turn != turn && e.Turn != turn+1 {
			j.find(Lost, "%s: turn %d follows turn %d", r.ID, e.Turn, turn)
		}
		turn = e.Turn
		j.count(e.Kind)
		j.posted(r, e)
		switch e.Kind {
		case "CallCompleted", "CallFailed", "CallCanceled", "TimerFired", "TimerCanceled":
			if before := closed[e.Call]; before != "" {
				j.find(Doubled, "%s: call %d has the results %s and %s", r.ID, e.Call, before, e.Kind)
			}
			closed[e.Call] = e.Kind
		case "RunCompleted", "RunFailed", "RunCanceled", "RunTerminated", "RunTimedOut":
			if i != len(events)-1 {
				j.find(Doubled, "%s: %s is event %d of %d", r.ID, e.Kind, i+1, len(events))
			}
		}
	}
}
