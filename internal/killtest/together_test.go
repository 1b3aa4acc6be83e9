package killtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/witness"
)

// TestE3_TheLostStartTogether: what a process took along starts together in the next one:
// there each body waits for all the others. None of them is a suspect after one loss.
func TestE3_TheLostStartTogether(t *testing.T) {
	const runs = 16 // as many as a worker has slots
	s := newScene(t)
	ctx, cancel := patience(t)
	defer cancel()
	for i := range runs {
		if _, err := perdure.Start(ctx, s.client, witness.Meeting, fmt.Sprint("meeting ", i), runs); err != nil {
			t.Fatal(err)
		}
	}
	first := s.spawn()
	<-first.ready
	for s.book.Count(func(e witness.Entry) bool { return e.Step == "meet" && e.Phase == witness.Begin }) < runs {
		select {
		case <-ctx.Done():
			t.Fatalf("the first process did not begin all of them: %s", first.Said())
		case <-time.After(10 * time.Millisecond):
		}
	}
	first.kill()
	second := s.spawn()
	<-second.ready
	for i := range runs {
		id := fmt.Sprint("meeting ", i)
		if got, err := perdure.Attach[int](s.client, id).Result(ctx); got != runs || err != nil {
			t.Fatalf("%s: %d, %v\n%s", id, got, err, witness.Explain(s.client, id))
		}
		attempts, err := s.client.Workflow(id).Attempts(ctx)
		if err != nil || len(attempts) != 2 || attempts[0].Outcome != "lost" || attempts[1].Outcome != "completed" {
			t.Errorf("%s has the attempts %+v, %v; want one that is lost and one that completed", id, attempts, err)
		}
	}
	if err := second.stop(); err != nil {
		t.Errorf("the second worker ended with %v: %s", err, second.Said())
	}
}
