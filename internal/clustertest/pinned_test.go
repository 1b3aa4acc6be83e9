package clustertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// pinned is a workflow whose runs stay on their build, though the code of any build fits
// them: each step but the first waits for a ticket.
var (
	pinned      = workflow.New("pinned", climb, workflow.Pinned(), workflow.Version("same"))
	pinnedSteps = []string{"bottom", "middle", "top"}
)

func climb(wf *workflow.Context, v int) (int, error) {
	for i, step := range pinnedSteps {
		if i > 0 {
			if _, err := workflow.Receive(wf, ticket); err != nil {
				return 0, err
			}
		}
		var err error
		if v, err = workflow.Call(wf, work, witness.Effect{Step: step, Value: v}); err != nil {
			return 0, err
		}
	}
	return v, nil
}

// TestE118_E119_KillNineOfABuild: runs that stay on their build are in flight when its only
// node is killed with kill -9, and again when a second one is. They wait and say for which
// build, continue at the second node, and, when a request has moved them, at the other build, of
// which a node is killed while it obeys. Nothing of them is done there before.
func TestE118_E119_KillNineOfABuild(t *testing.T) {
	extent.OnlyAtNight(t, "TestE132 kills nodes of two builds, too")
	t.Parallel()
	for round := range *times {
		t.Run(fmt.Sprint(round), func(t *testing.T) { killBuild(newCluster(t, pgtest.Shared(t)), func() {}) })
	}
}

// killBuild is that on any cluster; trouble may hurt its server.
func killBuild(c *cluster, trouble func()) {
	const runs = 16
	t := c.t
	p := &pins{cluster: c, runs: map[string]string{}}
	a := c.start("A 1", torture.Setup{Build: "A", Queue: -1})
	ofA := p.begin(a, runs)
	b := c.start("B 1", torture.Setup{Build: "B", Queue: -1})
	c.awaitShares(a, b)
	ofB := p.begin(b, runs)

	// Half of them are in the middle of a step for certain when their node is killed.
	hold := c.book.Hold(func(e witness.Entry) bool {
		return e.Process == a.Label && e.Phase == witness.Begin && e.Step == "middle" && slices.Contains(ofA[:runs/2], e.Workflow)
	})
	sent := p.send(1, slices.Concat(ofA, ofB))
	c.await("steps are under way", func() bool { return p.count(ofA[:runs/2], witness.Begin, "middle") >= runs/4 })
	time.Sleep(c.moment(50 * time.Millisecond))
	a.Kill()
	hold.Release()
	trouble()
	p.must(<-sent)
	c.await("runs of the other build continue", func() bool { return p.count(ofB, witness.Done, "middle") == runs })
	p.awaitWaiting(ofA, "A")
	before := p.count(ofA, witness.Begin, "middle")
	if before == 0 || p.count(ofA, witness.Done, "middle") > runs/2 {
		t.Errorf("%d runs began the step before the kill, of which half were held", before)
	}

	a = c.start("A 2", torture.Setup{Build: "A", Queue: -1})
	p.awaitTicket(ofA, "middle") // on record, or it would be done again
	a.Kill()
	trouble()
	p.awaitWaiting(ofA, "A")
	p.must(<-p.send(2, ofB))
	for _, id := range ofB {
		p.result(id)
	}

	moved, sent := p.moveAll(), p.send(2, ofA)
	time.Sleep(c.moment(100 * time.Millisecond))
	b.Kill()
	b = c.start("B 2", torture.Setup{Build: "B", Queue: -1})
	trouble()
	p.must(<-moved)
	p.must(<-sent)
	for _, id := range ofA {
		p.result(id)
		p.movedOnce(id)
	}
	c.awaitShares(b)
	c.awaitHealth(b)
	p.judge(ofA, map[string]string{"bottom": "A", "middle": "A", "top": "B"})
	p.judge(ofB, map[string]string{"bottom": "B", "middle": "B", "top": "B"})
	c.nothingOnTheWay()
	for _, n := range c.all {
		for _, line := range n.Complaints() {
			if !strings.Contains(line, "it stays on build A") {
				t.Errorf("node %s says: %s", n.Label, line)
			}
		}
	}
}

// pins are runs that stay on their build.
type pins struct {
	*cluster
	runs map[string]string // run IDs by workflow ID
}

func (p *pins) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// begin starts runs on the partitions of a node, which takes the first step of each.
func (p *pins) begin(n *node, runs int) (ids []string) {
	p.t.Helper()
	for i := range runs {
		id := p.idOn(n, fmt.Sprintf("of %s, %d,", n.Label[:1], i))
		run, err := n.Start("pinned", id, i)
		p.must(err)
		p.runs[id] = run
		ids = append(ids, id)
	}
	p.awaitTicket(ids, "bottom")
	return ids
}

// awaitTicket waits until each of the runs has done a step and waits for its next ticket.
func (p *pins) awaitTicket(ids []string, step string) {
	p.t.Helper()
	for _, id := range ids {
		p.await(id+" waits for its ticket", func() bool {
			d, err := p.client.Workflow(id).Describe(p.t.Context())
			return err == nil && len(d.Pending) == 1 && d.Pending[0].Kind == "signal" && p.count([]string{id}, witness.Done, step) > 0
		})
	}
}

// send sends each run its next ticket, as a client does, however long it takes.
func (p *pins) send(number int, ids []string) <-chan error {
	sent := make(chan error, 1)
	go func() {
		var err error
		for _, id := range ids {
			err = firstOf(err, witness.Patiently(p.t.Context(), func() error { return witness.Signal(p.t.Context(), p.client, id, number) }))
		}
		sent <- err
	}()
	return sent
}

// count counts the entries in the book of a step of the runs.
func (p *pins) count(ids []string, phase, step string) int {
	return p.book.Count(func(e witness.Entry) bool {
		return e.Phase == phase && e.Step == step && slices.Contains(ids, e.Workflow)
	})
}

// awaitWaiting sends each run something that its code does not read, so that it is looked at,
// and waits until it says that it waits for a build of which no node lives.
func (p *pins) awaitWaiting(ids []string, build string) {
	p.t.Helper()
	for _, id := range ids {
		p.must(witness.Patiently(p.t.Context(), func() error { return p.client.Workflow(id).Signal(p.t.Context(), "nudge", 0) }))
	}
	for _, id := range ids {
		var d *view.Description
		p.await(id+" waits for its build", func() bool {
			var err error
			d, err = p.client.Workflow(id).Describe(p.t.Context())
			return err == nil && d.Status == "waiting-for-code" && d.Needs != nil && !d.Needs.Live
		})
		if d.Build != build || d.Needs.Build != build || d.Needs.Seen.IsZero() || !strings.Contains(d.Reason, "it stays on build "+build+", ") || d.RunID != p.runs[id] {
			p.t.Errorf("%s is %+v, and needs %+v", id, d, d.Needs)
		}
	}
}

// moveAll asks for all runs that stay on build A to move to B until all have.
func (p *pins) moveAll() <-chan error {
	done := make(chan error, 1)
	go func() {
		for {
			ctx, cancel := context.WithTimeout(p.t.Context(), patience)
			r, err := ops.ControlRuns(ctx, p.client, view.Filter{Workflow: "pinned", IDPrefix: "of A"}, ops.MoveRun("A", "B"),
				ops.RequestID("move"), ops.By("ann"), ops.Why("A charges twice"))
			cancel()
			switch {
			case p.t.Context().Err() != nil:
				done <- p.t.Context().Err()
			case err == nil && r.Refused > 0:
				done <- fmt.Errorf("the request came to %+v", r)
			case err == nil && r.Unanswered == 0: // some may have ended since an earlier try
				done <- nil
			default:
				continue
			}
			return
		}
	}()
	return done
}

// movedOnce looks for the request on the record of a run.
func (p *pins) movedOnce(id string) {
	p.t.Helper()
	all, err := p.client.Workflow(id).Audit(p.t.Context())
	applied := 0
	for _, r := range all {
		if r.Operation == "move-runs" && r.Outcome == view.Applied && r.By == "ann" && r.Name == "B" {
			applied++
		}
	}
	if err != nil || applied != 1 {
		p.t.Errorf("%s was moved %d times by what is on record, %v: %+v", id, applied, err, all)
	}
}

// result waits for the end of a run.
func (p *pins) result(id string) {
	p.t.Helper()
	var from int
	_, err := fmt.Sscanf(id, "of "+id[3:4]+", %d,", &from)
	p.must(err)
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*patience)
	defer cancel()
	got, err := perdure.Attach[int](p.client, id).Result(ctx)
	if want := witness.Repeat(len(pinnedSteps), from); err != nil || got != want {
		p.t.Errorf("the result of %s is %d, %v, want %d\n%s", id, got, err, want, witness.Explain(p.client, id))
	}
	if d, err := p.client.Workflow(id).Describe(p.t.Context()); err != nil || d.RunID != p.runs[id] {
		p.t.Errorf("%s is the run %s, %v, not %s", id, d.RunID, err, p.runs[id])
	}
}

// judge holds the book against the ledger, and each execution in it against the build on which
// the step belongs.
func (p *pins) judge(ids []string, builds map[string]string) {
	p.t.Helper()
	p.judgeSteps(ids, pinnedSteps)
	for _, e := range p.book.Entries() {
		if slices.Contains(ids, e.Workflow) && !strings.HasPrefix(e.Process, builds[e.Step]+" ") {
			p.t.Errorf("step %s of %s ran on %s: %+v", e.Step, e.Workflow, e.Process, e)
		}
	}
}
