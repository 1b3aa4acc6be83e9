package storm

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"pgregory.net/rapid"
)

// drawScenario draws small scenarios of every kind.
func drawScenario(t *rapid.T) Scenario {
	span := func(most time.Duration, name string) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name))
	}
	s := Scenario{
		Tasks: rapid.IntRange(1, 50).Draw(t, "tasks"),
		Over:  span(time.Minute, "over"),
		Seed:  rapid.Uint64().Draw(t, "seed"),
		Policy: retry.Policy{
			MaxAttempts:    rapid.IntRange(0, 6).Draw(t, "attempts"),
			Backoff:        rapid.SampledFrom([]retry.Backoff{{}, retry.None, retry.Fixed(time.Second), retry.Linear(time.Second, time.Minute)}).Draw(t, "backoff"),
			Jitter:         rapid.SampledFrom([]retry.Jitter{{}, retry.NoJitter, retry.FullJitter, retry.EqualJitter}).Draw(t, "jitter"),
			AttemptTimeout: span(2*time.Second, "timeout"),
			Within:         span(time.Minute, "within"),
			OnExhausted:    rapid.SampledFrom([]retry.OnExhausted{retry.Fail, retry.Pause}).Draw(t, "exhausted"),
		},
		Dependency: Server{
			Capacity:   rapid.IntRange(1, 5).Draw(t, "capacity"),
			Work:       span(time.Second, "work") + 1,
			Queue:      rapid.SampledFrom([]int{0, 1, 10, Endless}).Draw(t, "queue"),
			RetryAfter: span(time.Second, "retryAfter"),
		},
	}
	if rapid.Bool().Draw(t, "gated") {
		s.Gate = drawGate(t)
		s.Policy.QueueTimeout = span(10*time.Second, "queueTimeout")
	}
	for range rapid.IntRange(0, 3).Draw(t, "faults") {
		from := span(time.Minute, "from")
		s.Faults = append(s.Faults, Fault{From: from, To: from + 1 + span(time.Minute, "lasts"),
			ErrorRate: rapid.Float64Range(0.01, 1).Draw(t, "rate"), Slow: rapid.Float64Range(1, 100).Draw(t, "slow")})
	}
	if rapid.Bool().Draw(t, "contended") {
		s.Faults, s.Dependency = nil, Contended{Trip: span(time.Second, "trip") + 1}
	}
	return s
}

func drawGate(t *rapid.T) *gate.Spec {
	g := &gate.Spec{
		Name:  "drawn",
		Limit: rapid.SampledFrom([]int{1, 2, 5, 1000}).Draw(t, "limit"),
		Mode:  rapid.SampledFrom([]gate.Mode{"", gate.Hold, gate.Release, gate.Rejoin}).Draw(t, "mode"),
	}
	if rapid.Bool().Draw(t, "rate") {
		g.Rate = gate.Rate{PerSecond: rapid.Float64Range(1, 100).Draw(t, "perSecond"), Burst: rapid.IntRange(0, 10).Draw(t, "burst")}
	}
	if rapid.Bool().Draw(t, "budget") {
		g.Budget = gate.Budget{Tokens: rapid.IntRange(1, 20).Draw(t, "tokens"), Refund: 0.1}
	}
	if rapid.Bool().Draw(t, "breaker") {
		g.Breaker = gate.Breaker{Failures: rapid.IntRange(1, 5).Draw(t, "failures"), Cooldown: time.Second, Wait: rapid.Bool().Draw(t, "wait")}
	}
	return g
}

// Every task is accounted for once, every call too, and no policy is exceeded.
func TestEverythingIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		r, err := Run(s)
		if err != nil {
			t.Fatal(err)
		}
		// Failed probes are not charged. A task whose every call fails waits at such a breaker as
		// long as Within allows.
		free := s.Gate != nil && s.Gate.Breaker.Wait
		if r.Succeeded+r.Failed+r.Paused+r.Unsettled != s.Tasks || r.Unsettled != 0 && (!free || s.Policy.Within > 0) {
			t.Errorf("tasks: %d of %d succeeded, %d failed, %d were paused, %d are unsettled", r.Succeeded, s.Tasks, r.Failed, r.Paused, r.Unsettled)
		}
		if s.Gate == nil && r.Calls < s.Tasks || !free && r.Calls > s.Tasks*s.Policy.AttemptLimit() || r.Wasted != r.Calls-r.Succeeded {
			t.Errorf("calls: %+v", r)
		}
		loads, reasons := 0, 0
		for _, n := range r.Load {
			loads += n
			if n > r.Peak {
				t.Errorf("a peak of %d, but a load of %d", r.Peak, n)
			}
		}
		for reason, n := range r.Reasons {
			reasons += n
			if reason.Retries() {
				t.Errorf("%s is not a reason to stop", reason)
			}
		}
		if loads != r.Calls || reasons != r.Failed+r.Paused || r.PeakAfter > r.Peak {
			t.Errorf("sums: %+v", r)
		}
		p := r.Latency
		if p.P50 > p.P90 || p.P90 > p.P99 || p.P99 > p.Max || p.Max > r.End {
			t.Errorf("latency: %+v", r)
		}
	})
}

// watched looks at a server after each event.
type watched struct {
	*running
	check func()
}

func (w watched) begin(c call)   { w.running.begin(c); w.check() }
func (w watched) handle(e event) { w.running.handle(e); w.check() }

// A server never works on more than it can, nor idles while somebody waits; a gate
// never lets more run than it has slots.
func TestServersAndGatesKeepTheirLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		server, ok := s.Dependency.(Server)
		if !ok {
			return
		}
		s.Dependency = observed{server, func(r *running) {
			atWork := 0
			for i := range r.w.tasks {
				if r.w.tasks[i].phase == calling {
					atWork++
				}
			}
			if s.Gate != nil && atWork > s.Gate.Limit {
				t.Fatalf("%d attempts run, and the gate has %d slots", atWork, s.Gate.Limit)
			}
			if r.busy < 0 || r.busy > r.Capacity || r.queued() > r.Queue || r.queued() > 0 && r.busy < r.Capacity {
				t.Fatalf("busy %d of %d, %d wait of %d", r.busy, r.Capacity, r.queued(), r.Queue)
			}
		}}
		if _, err := Run(s); err != nil {
			t.Fatal(err)
		}
	})
}

type observed struct {
	Server
	look func(*running)
}

func (o observed) open(w *world) service {
	r := o.Server.open(w).(*running)
	return watched{r, func() { o.look(r) }}
}

// The agenda is a queue by time, and by order of planning within a moment.
func TestTheAgendaIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a agenda
		times := rapid.SliceOf(rapid.Int64Range(0, 20)).Draw(t, "times")
		for _, at := range times {
			a.plan(event{at: time.Duration(at)})
		}
		var last event
		for range times {
			e, ok := a.next()
			if !ok || e.at < last.at || e.at == last.at && e.order <= last.order {
				t.Fatalf("%+v after %+v", e, last)
			}
			last = e
		}
		if _, ok := a.next(); ok {
			t.Fatal("something is left")
		}
	})
}

// A policy that never waits and never gives up would call without end.
func TestAnEndlessScenarioIsRefused(t *testing.T) {
	_, err := run(Scenario{
		Tasks: 10, Dependency: Server{Capacity: 1, Work: 1},
		Policy: retry.Policy{MaxAttempts: retry.Unlimited, Within: retry.Forever, Backoff: retry.None},
		Faults: []Fault{Outage(0, Always)},
	}, 1000)
	if err == nil || !strings.Contains(err.Error(), "more than 1000 calls in 100ms") {
		t.Error(err)
	}
}

// around has the mean and the deviation it says it has.
func TestAroundIsNormallyDistributed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, d := range []time.Duration{time.Millisecond, time.Second, maxTime} {
		const n = 20_000
		var sum, squares float64
		within := 0
		for range n {
			x := float64(around(random, d)) / float64(d)
			sum += x
			squares += (x - 1) * (x - 1)
			if x > 0.8 && x < 1.2 {
				within++
			}
		}
		if mean, variance, share := sum/n, squares/n, float64(within)/n; mean < 0.99 || mean > 1.01 || variance < 0.037 || variance > 0.043 || share < 0.66 || share > 0.70 {
			t.Errorf("%v: mean %.3f, variance %.4f, %.3f within one deviation; want 1, 0.04, 0.683", d, mean, variance, share)
		}
	}
}
