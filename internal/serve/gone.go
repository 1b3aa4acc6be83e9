package serve

import (
	"context"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
)

// Gone finds what the workers of queues leave that die. A worker counts as dead only if that lasts
// for some time in which the database answers: right after an outage no worker has renewed its
// lease. It is not safe for concurrent use.
type Gone struct {
	Store    store.Store
	Patience time.Duration // how long a worker has to be dead

	since map[string]time.Time // workers that were seen dead, and since when
}

// Loss is an attempt that is lost with its worker, and what its run is told.
type Loss struct {
	Task  store.Task
	Input core.WorkerGone
}

// Run looks until ctx ends, and on news of nodes and workers. Lost is told what was found.
func (g *Gone) Run(ctx context.Context, news clock.Bell, partitions func() []int, lost func(losses []Loss, died map[string][]store.Task)) {
	watch := clock.Watch{Bell: news, Every: g.Patience}
	watch.Run(ctx, func() error {
		losses, died, err := g.Look(ctx, partitions())
		if err == nil { // else it looks again later; other loops report the outage
			lost(losses, died)
		}
		return err
	})
}

// Look returns the attempts of workers that are gone, of the runs of some partitions, and by worker
// those of the ones that died and did not leave.
func (g *Gone) Look(ctx context.Context, partitions []int) (losses []Loss, died map[string][]store.Task, err error) {
	before := g.since
	g.since = nil
	if len(partitions) == 0 {
		return nil, nil, nil
	}
	lost, err := g.Store.Tasks(ctx, store.TaskFilter{Partitions: partitions, Lost: true, Limit: 1000})
	if err != nil || len(lost) == 0 {
		return nil, nil, err
	}
	workers, err := g.Store.Workers(ctx)
	if err != nil {
		return nil, nil, err
	}
	left := map[string]bool{}
	var survivors []string
	for _, w := range workers {
		left[w.ID] = w.Left
		if w.Left || w.Live {
			survivors = append(survivors, w.ID)
		}
	}
	g.since, died = map[string]time.Time{}, map[string][]store.Task{}
	for _, t := range lost {
		first, known := before[t.Worker]
		if !known {
			first = time.Now()
		}
		g.since[t.Worker] = first
		if !left[t.Worker] {
			if time.Since(first) < g.Patience {
				continue
			}
			died[t.Worker] = append(died[t.Worker], t)
		}
		losses = append(losses, Loss{t, core.WorkerGone{
			AttemptRef: core.AttemptRef{Call: t.Number, Attempt: t.Attempt}, Worker: t.Worker, Survived: left[t.Worker], Survivors: survivors,
		}})
	}
	return losses, died, nil
}
