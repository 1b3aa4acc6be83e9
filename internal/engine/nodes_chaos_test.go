package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// chaos is a group of nodes to which everything happens that can.
type chaos struct {
	*world
	random      *rand.Rand
	definitions []any
	alive       []*engine.Engine
	names       map[*engine.Engine]string
	born        int
	roomy       bool     // nodes that join have many slots
	forgetful   bool     // nodes that join remove runs as soon as they have ended
	keepsLast   bool     // but not the last one of a chain
	builds      []string // that nodes have; the third has no code
	stops       sync.WaitGroup
	log         []string
}

func (c *chaos) note(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf(format, args...))
}

func (c *chaos) join() {
	c.born++
	c.joinAs(fmt.Sprint("n", c.born), c.random.IntN(2) == 0)
}

// joinBuild lets a node of a build join.
func (c *chaos) joinBuild(i int) {
	all := c.builds
	defer func() { c.builds = all }()
	c.builds = []string{all[i]}
	c.join()
}

func (c *chaos) joinAs(name string, supersede bool) {
	config := c.config(c.definitions...)
	if len(c.builds) > 0 {
		if config.Build = c.builds[c.random.IntN(len(c.builds))]; config.Build == "3" {
			build := config.Build
			config = c.config(nothing)
			config.Build = build
		}
	}
	if c.forgetful {
		config = c.impatient(c.definitions...)
	}
	if c.keepsLast {
		config.Retention = view.Retention{Continued: 1}
	}
	config.Node, config.Supersede = name, supersede
	config.Concurrency = []int{2, 8, 128}[c.random.IntN(3)]
	if c.roomy {
		config.Concurrency = 128
	}
	if c.random.IntN(3) == 0 {
		config.MaxResident = -1
	}
	e := c.open(config)
	c.note("%s joins, build %q", config.Node, config.Build)
	if err := e.Start(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.alive = append(c.alive, e)
	c.names[e] = name
}

func (c *chaos) take() *engine.Engine {
	i := c.random.IntN(len(c.alive))
	e := c.alive[i]
	c.alive = append(c.alive[:i], c.alive[i+1:]...)
	return e
}

func (c *chaos) fault() faulty.Fault {
	switch c.random.IntN(4) {
	case 0:
		return faulty.FailBefore
	case 1:
		return faulty.FailAfter
	case 2:
		return faulty.Slow(time.Duration(c.random.IntN(15_000)) * time.Millisecond)
	}
	return faulty.Slow(time.Duration(c.random.IntN(500)) * time.Millisecond)
}

// happen lets something happen to the group.
func (c *chaos) happen() {
	e := c.alive[c.random.IntN(len(c.alive))]
	plan := c.plans[e]
	switch c.random.IntN(10) {
	case 0:
		if len(c.alive) < 6 {
			c.join()
		}
	case 1:
		if len(c.alive) > 1 {
			c.note("one dies")
			c.kill(c.take())
		}
	case 2:
		if len(c.alive) > 1 {
			patience := time.Duration(c.random.IntN(10)) * time.Second
			e := c.take()
			c.note("one leaves, with a patience of %s", patience)
			c.stops.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				if err := e.Stop(ctx); err != nil {
					c.t.Logf("stop: %v", err)
				}
			})
		}
	case 3, 4:
		length := time.Duration(c.random.IntN(25_000)) * time.Millisecond
		c.note("one is cut off for %s", length)
		plan.Outage(true)
		c.stops.Go(func() {
			time.Sleep(length)
			plan.Outage(false)
		})
	case 5:
		length := time.Duration(c.random.IntN(20_000)) * time.Millisecond
		c.note("the database is away for %s", length)
		for _, e := range c.alive {
			plan := c.plans[e]
			plan.Outage(true)
			c.stops.Go(func() {
				time.Sleep(length)
				plan.Outage(false)
			})
		}
	case 6, 7:
		k, f := plan.Writes()+1+c.random.IntN(10), c.fault()
		c.note("a write %s", f)
		func() {
			defer func() { _ = recover() }() // it has a fault already
			plan.At(k, f)
		}()
	case 8:
		c.note("one joins under the name of another")
		c.joinAs(c.names[c.take()], true)
	case 9:
		k, f := plan.Renewals()+1+c.random.IntN(3), c.fault()
		c.note("a renewal %s", f)
		func() {
			defer func() { _ = recover() }()
			plan.AtRenewal(k, f)
		}()
	}
}

var errUnlucky = errors.New("unlucky")

// labours is a workflow that does some of everything.
func labours() []any {
	work := activity.New("work", func(ctx context.Context, n int) (int, error) {
		info, _ := activity.FromContext(ctx)
		if n%7 == 3 && info.Attempt%2 == 1 {
			return 0, errUnlucky
		}
		if n%11 == 5 { // does not listen
			time.Sleep(time.Duration(n%13) * 300 * time.Millisecond)
			return n + 1, nil
		}
		return n + 1, busy(ctx, time.Duration(n%17)*150*time.Millisecond)
	}, activity.Retry(retry.Policy{MaxAttempts: 1000, CrashLimit: 1000, Backoff: retry.Fixed(700 * time.Millisecond)}))
	flow := workflow.New("labours", func(wf *workflow.Context, n int) (int, error) {
		for range 4 {
			parts, err := workflow.Map(wf, []int{n, n + 1, n + 2}, func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, work, n) })
			if err != nil {
				return 0, err
			}
			n = parts[0]
			if err := workflow.Sleep(wf, time.Duration(n%9)*time.Second); err != nil {
				return 0, err
			}
			m := n
			n, err = workflow.Do(wf, "step", func(ctx context.Context) (int, error) { return m + 1, busy(ctx, 50*time.Millisecond) },
				activity.Retry(retry.Policy{CrashLimit: 1000}))
			if err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	return []any{work, flow, player, numberer.Impl(count), collector.Impl(collect)}
}

// numberer sends numbers to a collector, one a run; some of the runs fail at first.
var numberer = workflow.Declare[countdown, int]("numberer", workflow.RetryPolicy(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(6 * time.Second)}))

type countdown struct {
	To      string
	N, Last int
}

func count(wf *workflow.Context, in countdown) (int, error) {
	if in.N%4 == 1 && workflow.GetInfo(wf).Attempt == 1 {
		return 0, errUnlucky
	}
	if err := workflow.Send(wf, in.To, number, in.N); err != nil {
		return 0, err
	}
	if err := workflow.Sleep(wf, time.Duration(in.N%5)*700*time.Millisecond); err != nil || in.N == in.Last {
		return in.N, err
	}
	in.N++
	return workflow.ContinueAsNew(wf, numberer, in)
}

// hostile is an ID that looks like what engines, databases and terminals give a meaning to.
func hostile(what string, i int) string {
	return fmt.Sprintf("#%d/gate/%s'; --\x1b[31m%%_\u202e\\\"/id/", i, what)
}

// beginChains starts pairs of a numberer and a collector, and returns their IDs.
func beginChains(t *testing.T, e *engine.Engine, pairs int) (ids []string) {
	t.Helper()
	for i := range pairs {
		to, from := hostile("to", i), hostile("from", i)
		begin(t, e, collector, to, collected{Each: 1 + i%3, All: 20})
		begin(t, e, numberer, from, countdown{To: to, Last: 19})
		ids = append(ids, to, from)
	}
	return ids
}

// judgeChains makes sure that each number came once, and in order.
func judgeChains(t *testing.T, e *engine.Engine, pairs int) {
	t.Helper()
	for i := range pairs {
		got, err := finish[[]int](t, e, hostile("to", i))
		if len(got) != 20 || got[0] != 0 || got[19] != 19 || !slices.IsSorted(got) || err != nil {
			t.Errorf("collector %d: %v, %v", i, got, err)
		}
		if n, err := finish[int](t, e, hostile("from", i)); n != 19 || err != nil {
			t.Errorf("numberer %d: %d, %v", i, n, err)
		}
	}
}

// TestI6_Chaos: whatever happens to nodes and database, when it is over all runs come
// to their right end, within reasonable time, and no node holds anything of them.
func TestI6_Chaos(t *testing.T) {
	for seed := range chaosSeeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			playChaos(t, seed)
		})
	}
}

func playChaos(t *testing.T, seed uint64) {
	needsFencing.inAGroupOf(t, []int{1, 5, 16}[seed%3], func(t *testing.T, w *world) {
		w.fewSeedsOnDisk(seed)
		c := &chaos{world: w, random: rand.New(rand.NewPCG(seed, 1)), definitions: labours(), names: map[*engine.Engine]string{}}
		t.Cleanup(func() {
			if t.Failed() {
				for _, line := range c.log {
					t.Log(line)
				}
			}
		})
		c.join()
		c.join()
		client := w.open(w.config())
		flow := workflow.Declare[int, int]("labours")
		const runs = 30
		for i := range runs {
			begin(t, client, flow, fmt.Sprint(i), i)
		}
		for i := range 10 {
			begin(t, client, player, hostile("left", i), match{Other: hostile("right", i)})
			begin(t, client, player, hostile("right", i), match{Other: hostile("left", i), Serves: true})
		}
		ids := beginChains(t, client, 5)
		for range 25 {
			pass(time.Duration(c.random.IntN(4000)) * time.Millisecond)
			c.happen()
		}
		c.stops.Wait()
		for _, e := range w.engines() {
			w.plans[e].Outage(false)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		for i := range runs {
			ids = append(ids, fmt.Sprint(i))
		}
		for i := range 10 {
			ids = append(ids, hostile("left", i), hostile("right", i))
		}
		for _, id := range ids {
			e := c.alive[c.random.IntN(len(c.alive))]
			if _, _, err := e.Result(ctx, id, ""); err != nil {
				t.Errorf("run %s: %v: %+v", id, err, describe(t, client, id))
			}
		}
		if t.Failed() {
			return
		}
		t.Logf("it took %s to come to an end", time.Since(began))
		for i := range runs {
			if got, err := finish[int](t, client, fmt.Sprint(i)); got != i+8 || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
		for i := range 10 {
			a, errA := finish[[]int](t, client, hostile("left", i))
			b, errB := finish[[]int](t, client, hostile("right", i))
			if fmt.Sprint(a, b) != "[1 3 5 7 9 11 13 15 17 19] [2 4 6 8 10 12 14 16 18]" || errA != nil || errB != nil {
				t.Errorf("pair %d: %v, %v; %v, %v", i, a, errA, b, errB)
			}
		}
		judgeChains(t, client, 5)
		pass(2 * time.Minute)
		for _, e := range c.alive {
			if holds := engine.Holds(e); holds != "" {
				t.Errorf("a node holds %s", holds)
			}
			if err := e.Health(); err != nil {
				t.Error(err)
			}
		}
		for _, e := range w.engines() { // a fault may be left for the way they leave
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := e.Stop(ctx); err != nil {
				t.Logf("stop: %v", err)
			}
		}
	})
}

func (w *world) engines() (all []*engine.Engine) {
	for e := range w.plans {
		all = append(all, e)
	}
	return all
}

// chaosSeeds is how many seeds are played: three are all numbers of partitions.
func chaosSeeds() uint64 {
	if testing.Short() {
		return 3
	}
	return extent.AtNight[uint64](9, 100)
}
