package storm

import (
	"errors"
	"time"

	"github.com/perdure/perdure/retry"
)

// Contended is one row of a database with optimistic concurrency control, which
// every task wants to write once. An attempt sends a read, gets the version of
// the row, and sends a write that names it; if nobody else has written in
// between the task is done, else the attempt fails with a conflict. Of those
// that read the same version one wins.
//
// It is the model by which Marc Brooker compares kinds of jitter in "Exponential
// Backoff And Jitter" (AWS Architecture Blog, 2015), made from the simulator
// published with it: each of the four messages of an attempt travels about Trip,
// normally distributed with a standard deviation of a fifth (there: 10 ms and
// 2 ms), row and network have no limit, and calls are counted at the write.
type Contended struct {
	// Trip is about how long a message takes in one direction. Above 0.
	Trip time.Duration
}

func (c Contended) check(s *Scenario) error {
	var wrong mistakes
	wrong.when(c.Trip <= 0 || c.Trip > maxTime, "Trip is %v; allowed is more than 0, up to %v", c.Trip, maxTime)
	wrong.when(len(s.Faults) > 0, "a contended row has no faults but its conflicts; use a Server for others")
	return errors.Join(wrong...)
}

func (c Contended) open(w *world) service {
	return &row{trip: c.Trip, w: w, conflict: failure(TypeConflict, 0)}
}

// row is a contended row in one experiment.
type row struct {
	trip     time.Duration
	w        *world
	version  uint32
	conflict retry.Failure
}

// Notes of an eventAnswer.
const (
	answerWritten = iota
	answerConflict
)

// send lets a message travel.
func (r *row) send(kind kind, c call, note uint32, trips int) {
	at := r.w.now
	for range trips {
		at += around(r.w.random, r.trip)
	}
	r.w.plan(event{at: at, kind: kind, call: c, note: note})
}

func (r *row) begin(c call) { r.send(eventRead, c, 0, 1) }

func (r *row) handle(e event) {
	switch e.kind {
	case eventRead:
		// There is nothing to decide when the version arrives: the answer to
		// the read and the write are one journey.
		r.send(eventWrite, e.call, r.version, 2)
	case eventWrite:
		answer := uint32(answerConflict)
		if e.note == r.version {
			r.version++
			answer = answerWritten
		}
		r.send(eventAnswer, e.call, answer, 1)
	case eventAnswer:
		if e.note == answerWritten {
			r.w.answer(e.call, nil)
		} else {
			r.w.answer(e.call, &r.conflict)
		}
	}
}
