// Locks counts the locks that one activity result takes, from the return of its body to the
// begin of the next one, the database's own left out. It is built with lockcount in the place of
// sync, by the test that reads what it prints.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/layout/testdata/locks/lockcount"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	var counts []map[string]int
	first := activity.New("first", func(context.Context, int) (int, error) {
		time.Sleep(2 * time.Millisecond) // the caller and the other workers have begun to wait
		lockcount.Begin()
		return 1, nil
	})
	second := activity.New("second", func(context.Context, int) (int, error) {
		counts = append(counts, lockcount.End())
		return 2, nil
	})
	flow := workflow.New("flow", func(w *workflow.Context, in int) (int, error) {
		if _, err := workflow.Call(w, first, in); err != nil {
			return 0, err
		}
		return workflow.Call(w, second, in)
	})
	engine, err := perdure.Open(ctx, memory.New(), perdure.Logger(slog.New(slog.DiscardHandler)), perdure.Register(flow, first, second))
	if err != nil {
		log.Fatal(err)
	}
	if err := engine.Start(ctx); err != nil {
		log.Fatal(err)
	}
	for i := range 100 {
		if _, err := perdure.Run(ctx, engine, flow, fmt.Sprint(i), 1); err != nil {
			log.Fatal(err)
		}
	}
	if err := engine.Close(); err != nil {
		log.Fatal(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(counts)
}
