package killtest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// deadly are workflows all of whose runs end their process: by their activity, by an inline
// step, and in a turn.
var (
	leaves = activity.New("leaves", func(_ context.Context, _ int) (int, error) { return exit() })
	deadly = map[string]workflow.Workflow[int, int]{
		"activity": workflow.New("deadly activity", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, leaves, n) }),
		"step": workflow.New("deadly step", func(wf *workflow.Context, n int) (int, error) {
			return workflow.Do(wf, "leave", func(context.Context) (int, error) { return exit() })
		}),
		"turn": workflow.New("deadly turn", func(wf *workflow.Context, n int) (int, error) {
			if err := workflow.Sleep(wf, 50*time.Millisecond); err != nil {
				return 0, err
			}
			return exit()
		}),
	}
)

func exit() (int, error) {
	os.Exit(3)
	return 0, nil
}

func registerDeadly() perdure.Option {
	return perdure.Register(leaves, deadly["activity"], deadly["step"], deadly["turn"])
}

// TestE3_E87_SixtyThatEndTheirProcess: sixty runs of a workflow that ends its process each
// time, beside healthy runs that come all the while. The process dies few times, and all
// healthy runs complete. How long those took that came in each second is logged.
func TestE3_E87_SixtyThatEndTheirProcess(t *testing.T) {
	const crashing, most = 60, 12
	extent.NotInShort(t, "it starts processes")
	play := map[string][]string{"sqlite": {"turn"}, "postgres": {"step"}}
	if extent.Nightly() {
		all := []string{"activity", "step", "turn"}
		play = map[string][]string{"sqlite": all, "postgres": all}
	}
	onBothStores(t, func(t *testing.T, address string, client *perdure.Engine) {
		for _, how := range play[t.Name()[len("TestE3_E87_SixtyThatEndTheirProcess/"):]] {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			for n := range crashing {
				if _, err := perdure.Start(ctx, client, deadly[how], fmt.Sprint(how, " ", n), n); err != nil {
					t.Fatal(err)
				}
			}
			begun := time.Now()
			l, deaths, last, runs, held := newLife(t, address), 0, begun, 0, time.Time{}
			for ; held.IsZero() || time.Since(held) < extent.AtNight(2*time.Second, 5*time.Second); runs++ {
				if _, err := perdure.Start(ctx, client, healthy, fmt.Sprint(how, " healthy ", runs), runs); err != nil {
					t.Fatal(err)
				}
				if d, err := client.Workflow(how + " 7").Describe(ctx); err != nil {
					t.Fatal(err)
				} else if held.IsZero() && (d.Status == view.StatusParked || len(d.Pending) == 1 && d.Pending[0].ActivityPaused != nil) {
					held = time.Now()
				}
				select {
				case <-l.dead:
					if deaths++; deaths > most {
						t.Fatalf("%s: %d processes died\n%s", how, deaths, tail(l.said))
					}
					l, last = newLife(t, address), time.Now()
				case <-time.After(50 * time.Millisecond):
				}
			}
			took := map[int][]time.Duration{}
			for n := range runs {
				id := fmt.Sprint(how, " healthy ", n)
				if got, err := perdure.Attach[int](client, id).Result(ctx); got != n+3 || err != nil {
					t.Fatalf("%s: %d, %v\n%s", id, got, err, tail(l.said))
				}
				d, err := client.Workflow(id).Describe(ctx)
				if err != nil || d.Status != view.StatusCompleted {
					t.Fatalf("%s: %+v, %v", id, d, err)
				}
				second := int(d.Created.Sub(begun) / time.Second)
				took[second] = append(took[second], d.Closed.Sub(d.Created))
			}
			said := ""
			for second := range len(took) {
				slices.Sort(took[second])
				if n := len(took[second]); n > 0 {
					said += fmt.Sprintf(" %.1f", took[second][n/2].Seconds())
				}
			}
			t.Logf("%s: %d processes died, the last one after %.1f s; the median of the healthy runs that came in each second, in s:%s", how, deaths, last.Sub(begun).Seconds(), said)
			_ = l.in.Close()
			<-l.dead
			if l.err != nil {
				t.Errorf("%s: the last worker ended with %v\n%s", how, l.err, tail(l.said))
			}
		}
	})
}
