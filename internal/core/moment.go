package core

import "github.com/perdure/perdure/internal/history"

// Every input has its moment: the engine time at which it became durable, or at which its
// cause happened. What comes due has the moment at which it is due. A step takes both in the
// order of their moments, whoever served when: a request that was acknowledged before a due
// time comes before it, also if no process ran until both had passed.

// Timed is an input with its moment. Without it, the moment is that of the input before, and
// of the first one the beginning. The end of an attempt and a heartbeat say themselves when
// they happened. That a worker claimed an attempt has no moment: it comes first, because it is
// so whatever the run decides.
type Timed struct {
	Input
	At int64
}

// More says that an input of this moment waits and is passed to a later step. Nothing that is
// due later happens in this one. It is the last input.
type More struct{ At int64 }

func (More) input() {}

// moment returns an input and its moment, 0 if it has none.
func moment(in Input) (Input, int64) {
	switch in := in.(type) {
	case Timed:
		return in.Input, in.At
	case AttemptEnded:
		return in, in.Ended
	case Heartbeat:
		return in, in.At
	}
	return in, 0
}

// hearWorkers notes the attempts in queues whose end is among the inputs. Their workers were
// told that it counts, so it comes before the end of the attempt's time.
func (a *attempts) hearWorkers(inputs []Input) {
	if a.calls.inQueues == 0 {
		return
	}
	for _, in := range inputs {
		in, _ := moment(in)
		if end, is := in.(AttemptEnded); is && end.Outside {
			if c := a.calls.byNumber[end.Call]; c != nil && c.attempt == end.Attempt && (c.state == Remote || c.state == Offered) {
				c.settled = true
			}
		}
	}
}

// stepWhole takes the inputs and what is due in the order of their moments, and runs the code.
func (r *Run) stepWhole(inputs []Input) error {
	r.journal.moment, r.codeFirst = 0, false
	r.attempts.hearWorkers(inputs)
	until := r.journal.now
	for i, in := range inputs {
		if in == nil {
			continue
		}
		if more, is := in.(More); is {
			until = min(until, more.At-1)
			continue
		}
		in, at := moment(in)
		if _, loaded := in.(TakenOver); !loaded {
			at = min(at, r.journal.now)
			r.pass(at-1, at)
		}
		switch {
		case r.codeFirst, r.ended && !r.refuse(in), !r.ended && !r.Takes(in):
			r.journal.out.Deferred = append(r.journal.out.Deferred, i)
		case !r.ended:
			r.take(in)
		}
	}
	r.pass(until, until)
	if !r.ended {
		if err := r.work(); err != nil {
			return err
		}
	}
	if r.ended {
		r.endCalls()
	}
	return nil
}

// pass lets time pass up to a moment: what is due until then happens, the earliest first. An
// input comes before what is due at its moment, but not before the end of the run's time, to
// which time passes in any case. Where that ends, the code must have seen what came before; if
// it has not, time stops there, and the run is closed in the next step.
func (r *Run) pass(due, to int64) {
	if r.ended || r.codeFirst || due < r.journal.moment && to < r.Deadline() {
		return
	}
	end := r.Deadline()
	if r.journal.moment = max(r.journal.moment, min(due, end-1)); !r.Rejoins() {
		r.attempts.fireDue()
	}
	if to < end {
		return
	}
	if r.codeFirst = r.journal.mustAdvance && r.codeRan && r.journal.program != nil && r.journal.paused == nil && !r.Rejoins(); r.codeFirst {
		r.journal.out.Again = true
		return
	}
	r.journal.moment = to
	r.expire()
}

// work runs the code if there is something that it has to see.
func (r *Run) work() error {
	if r.Rejoins() {
		return r.rejoin()
	}
	if !r.journal.mustAdvance || r.neverBegins() || r.tooLong() {
		return nil
	}
	if r.journal.program != nil && r.journal.paused == nil && r.journal.moment >= r.firstTurn() {
		return r.step()
	}
	r.cancelOpen()
	if len(r.journal.out.Events) > 0 {
		r.journal.emit(history.Event{Kind: history.CodeDeferred})
	}
	return nil
}
