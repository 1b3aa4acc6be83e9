// Package workflows breaks the rules, each at a place that says so.
package workflows

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"time"

	"example.com/workflows/helpers"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

var work = activity.New("work", func(ctx context.Context, n int) (int, error) {
	time.Sleep(time.Second) // an activity may
	return rand.IntN(n), nil
})

var forgotten = activity.New("forgotten", func(ctx context.Context, n int) (int, error) { return n, nil })

var orphan = workflow.New("orphan", func(wf *workflow.Context, n int) (int, error) { return n, nil })

var total int // want total:"mutable"

var mu sync.Mutex

var offences = workflow.New("offences", func(wf *workflow.Context, n int) (int, error) {
	began := time.Now()       // want `workflow code reads the machine's clock with time.Now: .*use workflow.Now`
	_ = time.Since(began)     // want `time.Since`
	time.Sleep(time.Second)   // want `waits in real time with time.Sleep: .*workflow.Sleep`
	<-time.After(time.Second) // want `receives from a Go channel` `waits in real time with time.After`
	n += rand.IntN(6)         // want `draws a random value with rand.IntN: .*workflow.Rand`
	_, _ = crand.Read(nil)    // want `draws a random value with rand.Read`
	go func() { n++ }()       // want `starts a goroutine: .*workflow.Go`
	c := make(chan int, 1)    //
	c <- 1                    // want `sends on a Go channel: .*workflow.NewChannel`
	for range c {             // want `receives from a Go channel`
	} //
	select { // want `uses select: .*workflow.Select`
	case <-c: //
	default: //
	} //
	_, _ = os.ReadFile("x")                                                                   // want `does I/O with os.ReadFile: .*activity`
	fmt.Println(n)                                                                            // want `prints or logs with fmt.Println`
	fmt.Fprintln(os.Stdout, n)                                                                // want `uses os.Stdout`
	slog.Info("here")                                                                         // want `prints or logs with slog.Info`
	slog.Default().Info("here")                                                               // want `prints or logs with \(\*slog.Logger\).Info`
	other := slog.Default()                                                                   //
	other.Info("here")                                                                        // want `prints or logs with \(\*slog.Logger\).Info: .*workflow.Logger`
	mixed := workflow.Logger(wf)                                                              //
	mixed.Info("here")                                                                        // want `prints or logs with \(\*slog.Logger\).Info`
	mixed = other.With("n", n)                                                                //
	_, _ = http.Get("http://example.com")                                                     // want `does I/O with http.Get`
	var db *sql.DB                                                                            //
	_, _ = db.Exec("")                                                                        // want `does I/O with \(\*sql.DB\).Exec`
	mu.Lock()                                                                                 // want `waits for other goroutines with \(\*sync.Mutex\).Lock`
	total += n                                                                                // want `assigns the package variable total` `uses the package variable total, which is assigned`
	_ = retry.Do(context.Background(), retry.Policy{}, nil)                                   // want `retries in process with retry.Do: .*workflow.Retry`
	_, _ = context.WithTimeout(context.Background(), time.Second)                             // want `sets a deadline in real time with context.WithTimeout`
	var e *perdure.Engine                                                                     //
	_, _ = e.List(context.Background(), view.Filter{})                                        // want `talks to the engine with \(\*perdure.Engine\).List`
	_ = helpers.Stamp("x")                                                                    // want `calls helpers.Stamp, which calls helpers.stamp, which reads the machine's clock with time.Now \(helpers.go:23\): .*use workflow.Now`
	_ = helpers.Clock{}.Read()                                                                // want `calls helpers.Clock.Read, which reads the machine's clock`
	_ = helpers.Count()                                                                       // want `calls helpers.Count, which assigns the package variable count`
	_ = helpers.Limit                                                                         // want `uses the package variable Limit, which is assigned somewhere`
	local := activity.New("local", func(context.Context, int) (int, error) { return 0, nil }) // want `makes a handle: .*perdure.Register`
	_, _ = workflow.Call(wf, local, 1)                                                        //
	_ = workflow.New("inner", func(*workflow.Context, int) (int, error) { return 0, nil })    // want `makes a handle: .*perdure.Register`
	_, _ = workflow.Call(wf, forgotten, 1)                                                    // want `calls the activity forgotten, which nobody registers`
	_, _ = workflow.RunChild(wf, orphan, 1)                                                   // want `starts the workflow orphan, which nobody registers`
	_ = workflow.StartDetachedAsync(wf, started, 1)                                           // it is registered in start
	_, _ = workflow.Do(wf, "step", func(ctx context.Context) (int, error) {
		return workflow.Call(wf, work, 1) // want `uses its context inside workflow.Do`
	})
	return n, nil
})

var started = workflow.New("started", func(wf *workflow.Context, n int) (int, error) { return n, nil })

func start() perdure.Option { return perdure.Register(started) }

func maps_(wf *workflow.Context, m map[string]int) error {
	for k, v := range m { // want `ranges over a map: .*slices.Sorted`
		if _, err := workflow.Call(wf, work, v); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	for k := range maps.Keys(m) { // want `ranges over a map with maps.Keys`
		if _, err := workflow.Call(wf, work, len(k)); err != nil {
			return err
		}
	}
	var sum float64
	for _, v := range m { // want `ranges over a map`
		sum += float64(v)
	}
	return nil
}

// A literal in workflow code is workflow code.
func nested(wf *workflow.Context, items []int) error {
	_, err := workflow.Map(wf, items, func(wf *workflow.Context, n int) (time.Time, error) {
		return time.Now(), nil // want `reads the machine's clock`
	})
	later := func() int64 { return time.Now().Unix() } // want `reads the machine's clock`
	_ = later()
	return err
}

// A context from outside of a block loses the block's deadline.
func blocks(wf *workflow.Context, n int) error {
	_, _ = workflow.Timeout(wf, time.Second, func(*workflow.Context) (int, error) {
		return workflow.Call(wf, work, n) // want `uses the context wf from outside of workflow.Timeout: what it begins does not end with the deadline of the block; .* workflow.Outer\(wf\)`
	})
	shield, outer := workflow.Shield(wf), workflow.Outer(wf)
	_, _ = workflow.Retry(wf, retry.Policy{}, func(try *workflow.Context) (int, error) {
		_ = workflow.Sleep(wf, time.Second)                 // want `uses the context wf from outside of workflow.Retry`
		_ = workflow.Sleep(workflow.Outer(wf), time.Second) // this is meant
		_ = workflow.Sleep(outer, time.Second)
		_ = workflow.Sleep(shield, time.Second)
		_ = workflow.Now(wf)
		return workflow.Timeout(try, time.Second, func(inner *workflow.Context) (int, error) {
			return workflow.Call(try, work, n) // want `uses the context try from outside of workflow.Timeout`
		})
	})
	workflow.Go(wf, func(*workflow.Context) {
		_ = workflow.Sleep(wf, time.Second) // want `uses the context wf from outside of workflow.Go: a context belongs to the coroutine`
	})
	return nil
}

var _ = perdure.Register(offences, work)
