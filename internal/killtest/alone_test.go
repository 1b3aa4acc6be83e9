package killtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/witness"
)

// TestE1_I1_KillNineOfTheOnlyProcess: nobody else has the file open when its only
// process dies, so that the next one has nothing but what is on disk.
func TestE1_I1_KillNineOfTheOnlyProcess(t *testing.T) {
	setSeed()
	moments := rand.New(rand.NewPCG(*seed, 1<<40))
	t.Logf("again: go test ./internal/killtest -run %s -seed %d", t.Name(), *seed)
	s := newScene(t)
	ctx, cancel := patience(t)
	defer cancel()
	shapes := []string{"sequence", "parallel", "flaky", "timers", "race", "block", "pipeline"}
	var runs []witness.Run
	for i := range 140 {
		id := fmt.Sprint(shapes[i%len(shapes)], " ", i)
		run, err := witness.Start(ctx, s.client, shapes[i%len(shapes)], id, i)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, witness.Run{ID: id, RunID: run})
	}
	s.closeClient()

	for range 8 {
		w := s.spawn()
		<-w.ready
		select {
		case <-time.After(time.Duration(moments.Int64N(int64(60 * time.Millisecond)))):
		case <-w.Dead:
		}
		w.kill()
	}
	w := s.spawn()
	<-w.ready
	s.openClient()
	c := &witness.Client{Engine: s.client, Random: moments}
	for i, r := range runs {
		if _, err := witness.Jobs[shapes[i%len(shapes)]](ctx, c, r.ID, i); err != nil {
			t.Errorf("%s: %v\n%s", r.ID, err, witness.Explain(s.client, r.ID))
		}
		runs[i].Over = s.book.Length()
	}
	if err := w.stop(); err != nil {
		t.Errorf("the last worker ended with %v: %s", err, w.Said())
	}
	s.listen()
	judge(t, witness.Case{Engine: s.client, Entries: s.book.Entries(), Runs: runs})
}
