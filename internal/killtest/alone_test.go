package killtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workflow"
)

// TestE1_KillNineOfTheOnlyProcess: nobody else has the file open when its only
// process dies, so that the next one has nothing but what is on disk.
func TestE1_KillNineOfTheOnlyProcess(t *testing.T) {
	setSeed()
	moments := rand.New(rand.NewPCG(*seed, 1<<40))
	t.Logf("again: go test ./internal/killtest -run %s -seed %d", t.Name(), *seed)
	s := newScene(t)
	ctx, cancel := patience(t)
	defer cancel()
	shapes := []workflow.Workflow[int, int]{sequence, parallel, flaky, timers, race, block, pipeline}
	wants := []string{"sequence", "parallel", "flaky", "timers", "race", "block", "pipeline"}
	var runs []run
	for i := range 140 {
		shape := i % len(shapes)
		id := fmt.Sprint(wants[shape], " ", i)
		h, err := perdure.Start(ctx, s.client, shapes[shape], id, i)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run{id: id, run: h.RunID()})
	}
	s.closeClient()

	for range 8 {
		w := s.spawn()
		<-w.ready
		select {
		case <-time.After(time.Duration(moments.Int64N(int64(60 * time.Millisecond)))):
		case <-w.dead:
		}
		w.kill()
	}
	w := s.spawn()
	<-w.ready
	s.openClient()
	c := &client{engine: s.client, random: moments}
	for i, r := range runs {
		if _, err := jobs[wants[i%len(wants)]](ctx, c, r.id, i); err != nil {
			t.Errorf("%s: %v", r.id, err)
			s.explain(r.id)
		}
		runs[i].over = s.book.length()
	}
	if err := w.stop(); err != nil {
		t.Errorf("the last worker ended with %v: %s", err, w.stderr)
	}
	s.listen()
	judge(t, s.client, s.book.all(), runs, completions{})
}
