package clustertest

import (
	"context"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/retry"
)

// commits is the statement of a commit that runs this SQL, too, with a text among
// its parameters.
func commits(sql, parameter string) func(b *torture.Batch) bool {
	return func(b *torture.Batch) bool {
		return b.Runs("a partition has another owner", "") && b.Runs(sql, parameter)
	}
}

// turn is the commit of a turn that has an event of a kind, by its name in short turns
// (internal/history/short.go).
func turn(kind string) func(b *torture.Batch) bool {
	return commits("INSERT INTO perdure.turns", `"k":"`+kind+`"`)
}

// The moments: one for each kind of writes that a node makes.
var moments = []moment{
	{
		name:      "the result of an activity",
		prepare:   holdWorker,
		statement: turn("done"),
		provoke:   func(s *stage) { s.hold.Release() },
		after:     lostOne,
	},
	{
		name:      "the failure of an activity",
		night:     true,
		prepare:   holdWorker,
		statement: commits("INSERT INTO perdure.calls", "backoff"),
		provoke:   func(s *stage) { s.hold.Fail() },
		after:     lostOne,
	},
	{
		name:  "a slot that came free",
		night: true,
		prepare: func(s *stage) {
			// The two slots of a are taken: by the busy body, and by one that does not
			// notice that its run is terminated.
			blocker := s.idOn(s.a, "blocker")
			s.hold = s.holdOn(s.a, blocker)
			if _, err := witness.Start(s.t.Context(), s.client, "sequence", blocker, 1); err != nil {
				s.t.Fatal(err)
			}
			s.awaitBody(s.a, blocker)
			s.begin("worker", s.id)
			s.awaitPending(s.id, "queued")
			if err := s.client.Workflow(blocker).Terminate(s.t.Context(), "it is in the way"); err != nil {
				s.t.Fatal(err)
			}
			s.awaitEnd(blocker)
		},
		statement: commits("INSERT INTO perdure.calls", "dispatched"),
		provoke:   func(s *stage) { s.hold.Release() },
		after:     func(s *stage) { s.outcomes(s.id, "completed") },
	},
	{
		name:      "a timer",
		night:     true,
		prepare:   func(*stage) {},
		statement: turn("fired"),
		provoke:   func(s *stage) { s.begin("sleeper", s.id) },
		after:     func(s *stage) { s.outcomes(s.id, "completed") },
	},
	{
		name:      "a retry that is due",
		night:     true,
		prepare:   func(*stage) {},
		statement: commits("INSERT INTO perdure.calls", "dispatched"),
		provoke:   func(s *stage) { s.begin("stumbler", s.id) },
		after:     func(s *stage) { s.outcomes(s.id, "failed", "completed") },
	},
	{
		name:      "a signal",
		night:     true,
		prepare:   func(s *stage) { s.begin("listener", s.id); s.awaitPending(s.id, "waiting") },
		statement: turn("signal"),
		provoke:   func(s *stage) { s.signal(s.id) },
		after:     func(s *stage) { s.outcomes(s.id, "completed") },
	},
	{
		name:      "a cancellation",
		night:     true,
		prepare:   func(s *stage) { s.begin("listener", s.id); s.awaitPending(s.id, "waiting") },
		statement: turn("RunCancelRequested"),
		provoke: func(s *stage) {
			if err := s.client.Workflow(s.id).Cancel(s.t.Context(), "nobody waits for it"); err != nil {
				s.t.Fatal(err)
			}
		},
		after: func(s *stage) { s.outcomes(s.id) },
	},
	{
		name: "a signal to another run",
		prepare: func(s *stage) {
			s.begin("listener", s.id+" to")
			s.begin("forwarder", s.id)
			s.awaitPending(s.id, "waiting")
		},
		statement: turn("SignalSent"),
		provoke:   func(s *stage) { s.signal(s.id) },
		meanwhile: func(s *stage) { s.awaitEnd(s.id); s.awaitEnd(s.id + " to") },
		after:     func(s *stage) { s.outcomes(s.id, "completed"); s.outcomes(s.id+" to", "completed") },
	},
	{
		name:      "the start of a run by a call on the node",
		prepare:   func(*stage) {},
		statement: commits("INSERT INTO perdure.runs", ""),
		provoke:   func(s *stage) { s.startOn(s.a) },
		meanwhile: func(s *stage) {
			if _, err := s.client.Workflow(s.id).Describe(s.t.Context()); err == nil {
				s.t.Error("the run is there before its start reached the database")
			}
		},
		landed: func(s *stage) bool { return s.net.Refusals() > 0 },
		after: func(s *stage) {
			s.sameRun()
			s.awaitEnd(s.id)
			s.outcomes(s.id, "completed")
		},
	},
	{
		name:      "the start of a run that somebody else starts meanwhile",
		night:     true,
		prepare:   func(*stage) {},
		statement: commits("INSERT INTO perdure.runs", ""),
		provoke:   func(s *stage) { s.startOn(s.a) },
		meanwhile: func(s *stage) { s.begin("worker", s.id); s.awaitEnd(s.id) },
		after:     func(s *stage) { s.sameRun(); s.outcomes(s.id, "completed") },
	},
	{
		name:      "a signal by a call on the node",
		night:     true,
		prepare:   func(s *stage) { s.begin("listener", s.id); s.awaitPending(s.id, "waiting") },
		statement: func(b *torture.Batch) bool { return b.Runs("INSERT INTO perdure.inbox", "") },
		provoke: func(s *stage) {
			go func() { s.told <- answer{err: s.a.Signal(s.id, 1)} }()
		},
		meanwhile: func(s *stage) { s.awaitPending(s.id, "waiting") },
		landed:    func(s *stage) bool { s.awaitEnd(s.id); return true },
		after: func(s *stage) {
			if got := <-s.told; got.err != nil {
				s.t.Errorf("the signal that arrived was answered with %v", got.err)
			}
			s.outcomes(s.id, "completed")
		},
	},
	{
		name:      "a renewal of its lease",
		prepare:   holdWorker,
		statement: func(b *torture.Batch) bool { return b.Runs("UPDATE perdure.nodes SET seen", "") },
		provoke:   func(*stage) {},
		landed: func(s *stage) bool {
			return len(s.query(`SELECT id FROM perdure.nodes WHERE name = $1 AND expires > perdure.now()`, s.a.Name)) == 1
		},
		after: lostOne,
	},
	{
		name:      "giving partitions to a node that joins",
		night:     true,
		prepare:   holdWorker,
		statement: func(b *torture.Batch) bool { return b.Runs("freed AS (UPDATE perdure.partitions SET node = NULL", "") },
		provoke:   func(s *stage) { s.start("c", torture.Setup{}) },
		after:     lostOne,
		owner:     true,
	},
	{
		name: "claiming partitions of a node that left",
		prepare: func(s *stage) {
			holdWorker(s)
			s.awaitShares(s.a, s.b, s.start("c", torture.Setup{}))
		},
		statement: func(b *torture.Batch) bool { return b.Runs("INSERT INTO perdure.owners", "") },
		provoke: func(s *stage) {
			if err := s.all[2].Leave(patience); err != nil {
				s.t.Fatal(err)
			}
		},
		after: lostOne,
		owner: true,
	},
}

// holdWorker brings the run's body to where it waits for the book.
func holdWorker(s *stage) {
	s.hold = s.holdOn(s.a, s.id)
	s.begin("worker", s.id)
	s.awaitBody(s.a, s.id)
}

func (s *stage) signal(id string) {
	s.t.Helper()
	if err := witness.Signal(s.t.Context(), s.client, id, 1); err != nil {
		s.t.Fatal(err)
	}
}

// startOn starts the run by a call on a node.
func (s *stage) startOn(n *node) {
	go func() {
		var got answer
		got.run, got.err = n.Start("worker", s.id, 1)
		s.told <- got
	}()
}

// sameRun looks whether the call on the node answered what is true.
func (s *stage) sameRun() {
	s.t.Helper()
	got := <-s.told
	if runs := s.query(`SELECT perdure.run_id(id) FROM perdure.runs WHERE workflow_id = $1`, s.id); got.err != nil || len(runs) != 1 || runs[0] != got.run {
		s.t.Errorf("the start was answered with run %q, %v, and the runs are %v", got.run, got.err, runs)
	}
}

// lostOne looks whether the attempt on a is on record as lost, and another one
// completed.
func lostOne(s *stage) {
	s.t.Helper()
	s.outcomes(s.id, "lost", "completed")
}

// lostFor looks for what reason the first attempt of a run was lost, and waits until it is
// known that its worker lives.
func (s *stage) lostFor(id string, reason retry.Reason) {
	s.t.Helper()
	s.await("it is known that the first worker of "+id+" lives", func() bool {
		attempts, err := s.client.Workflow(id).Attempts(context.Background())
		if err != nil || len(attempts) == 0 || attempts[0].Reason != string(reason) {
			s.t.Fatalf("the attempts of %s are %+v, %v, want the first for %s", id, attempts, err, reason)
		}
		return strings.Contains(attempts[0].Message, "heard of again")
	})
}

// outcomes looks how the attempts of a run ended, and whether the run is as the
// book says.
func (s *stage) outcomes(id string, want ...string) {
	s.t.Helper()
	attempts, err := s.client.Workflow(id).Attempts(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, a := range attempts {
		got = append(got, a.Outcome)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("the attempts of %s are %v, want %v: %+v", id, got, want, attempts)
	}
	if len(want) == 0 {
		return
	}
	if v, err := perdure.Attach[int](s.client, id).Result(s.t.Context()); err != nil || v != witness.Grow(1) {
		s.t.Errorf("the result of %s is %d, %v", id, v, err)
	}
}
