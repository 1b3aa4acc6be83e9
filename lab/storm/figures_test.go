package storm_test

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/chart"
	"github.com/perdure/perdure/internal/docs"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/lab/storm"
	"github.com/perdure/perdure/retry"
)

// The tests in this file make the experiments that docs/retry-storms.md tells of, hold them to
// what the page says in words, and RESULTS.md and the pictures of the page to their figures.

var update = flag.Bool("update", false, "rewrite RESULTS.md and the pictures of docs/retry-storms.md")

func section(t *testing.T, name string, text string) {
	t.Helper()
	docs.Section(t, *update, "../lab/storm/RESULTS.md", "storm:"+name, text)
}

// brief is what the page says of some experiments: the rest is in RESULTS.md.
func brief(t *testing.T, name string, reports ...*storm.Report) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| | calls | most a second after the fault | done | last one done after the fault |\n|---|--:|--:|--:|--:|\n")
	for _, r := range reports {
		last := r.Drain.Round(time.Second).String()
		if r.Unsettled > 0 {
			last = "not within " + last
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d %% | %s |\n", r.Name, human.Count(r.Calls), human.Count(r.PeakAfter), 100*r.Succeeded/r.Tasks, last)
	}
	docs.Section(t, *update, "retry-storms.md", "storm:"+name, b.String())
}

// load draws how many calls came in each second of some experiments.
func load(t *testing.T, name, title string, least, most float64, fault chart.Span, reports ...*storm.Report) {
	t.Helper()
	const seconds = 180
	var says []string
	p := chart.Curves{Title: title, X: "seconds", Y: "calls/s", Least: least, Most: most, Spans: []chart.Span{fault}}
	for _, r := range reports {
		p.Series = append(p.Series, chart.Series{Name: r.Name, Values: r.Load[:min(seconds, len(r.Load))]})
		says = append(says, fmt.Sprintf("%s: %d calls in all, at most %d a second after the fault", r.Name, r.Calls, r.PeakAfter))
	}
	p.Text = strings.Join(says, "; ") + "."
	docs.Picture(t, *update, name, p.SVG())
}

// kinds are the jitters that the page compares.
var kinds = []struct {
	name   string
	jitter retry.Jitter
}{
	{"no jitter", retry.NoJitter},
	{"proportional 10 %", retry.Proportional(0.1)},
	{"equal", retry.EqualJitter},
	{"full", retry.FullJitter},
	{"decorrelated", retry.Decorrelated},
}

// persistent retries until it succeeds.
func persistent(b retry.Backoff, j retry.Jitter) retry.Policy {
	return retry.Policy{MaxAttempts: retry.Unlimited, Within: retry.Forever, Backoff: b, Jitter: j}
}

// clients is an experiment with a hundred clients that write one row, and what it
// takes on average over seeds.
type clients struct {
	name   string
	policy retry.Policy
	calls  float64
	least  int // in any seed
	most   int
	end    time.Duration
}

func (c *clients) run(t *testing.T, seeds int) {
	var end time.Duration
	for seed := range seeds {
		r := run(t, storm.Scenario{Tasks: 100, Policy: c.policy, Dependency: storm.Contended{Trip: 10 * ms}, Seed: uint64(seed)})
		c.calls += float64(r.Calls) / float64(seeds)
		end += r.End
		if c.most = max(c.most, r.Calls); seed == 0 || r.Calls < c.least {
			c.least = r.Calls
		}
	}
	c.end = end / time.Duration(seeds)
}

// The known result, from the model that gave it: a hundred clients take about
// 1,860 calls with plain exponential backoff and about 800 with full or equal
// jitter. The delays are those of the source, where the first wait is 10 ms and
// the longest 2 s; decorrelated jitter starts there from 5 ms.
func TestJitterSavesCallsUnderContention(t *testing.T) {
	const seeds = 100
	backoff := retry.Exponential(10*ms, 2, 2*time.Second)
	experiments := []*clients{{name: "no wait at all", policy: persistent(retry.None, retry.NoJitter)}}
	of := map[string]*clients{}
	for _, k := range kinds {
		b := backoff
		if k.jitter == retry.Decorrelated {
			b.Initial = 5 * ms
		}
		c := &clients{name: k.name, policy: persistent(b, k.jitter)}
		experiments, of[k.name] = append(experiments, c), c
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| jitter | calls, mean of %d seeds | least to most | until the last has written |\n|---|---|---|---|\n", seeds)
	for _, c := range experiments {
		c.run(t, seeds)
		fmt.Fprintf(&table, "| %s | %.0f | %d to %d | %v |\n", c.name, c.calls, c.least, c.most, c.end.Round(10*ms))
	}
	section(t, "contention", table.String())

	plain, full, equal := of["no jitter"], of["full"], of["equal"]
	if plain.calls < 1800 || plain.calls > 1950 || full.calls < 750 || full.calls > 850 || equal.calls < 750 || equal.calls > 870 {
		t.Errorf("plain %.0f, full %.0f, equal %.0f; the source has about 1860, 800, 800", plain.calls, full.calls, equal.calls)
	}
	for _, c := range []*clients{full, equal} {
		if 2*c.calls > plain.calls || c.most >= plain.least || c.end > plain.end/5 {
			t.Errorf("%s: %d to %d calls in %v, against %d to %d in %v", c.name, c.least, c.most, c.end, plain.least, plain.most, plain.end)
		}
	}
}

// shop is a dependency that can do 2,000 calls a second.
var shop = storm.Server{Capacity: 100, Work: 50 * ms, Queue: 1000}

// patient is what the tasks of an outage are retried by.
func patient(j retry.Jitter) retry.Policy {
	return persistent(retry.Exponential(time.Second, 2, time.Minute), j)
}

// A hundred thousand tasks that fail at the same moment come back together unless
// jitter spreads them.
func TestJitterSpreadsThoseThatFailedTogether(t *testing.T) {
	var reports []*storm.Report
	of := map[string]*storm.Report{}
	for _, k := range kinds {
		r := run(t, storm.Scenario{Name: k.name, Tasks: 100_000, Policy: patient(k.jitter), Dependency: shop,
			Faults: []storm.Fault{storm.Outage(0, time.Minute)}, Until: 10 * time.Minute})
		reports, of[k.name] = append(reports, r), r
	}
	section(t, "together", storm.Table(reports...))
	brief(t, "together", reports[0], reports[1], reports[3])
	load(t, "storm-jitter.svg", "Calls a second: 100,000 tasks meet an outage of a minute", 1, 1e6, chart.Span{Name: "outage", From: 0, To: 60}, reports[0], reports[1], reports[3])

	none, slight, full := of["no jitter"], of["proportional 10 %"], of["full"]
	if none.PeakAfter < 95_000 || none.Unsettled < 50_000 {
		t.Errorf("without jitter all should come back together, and most find no room: %+v", none)
	}
	if slight.PeakAfter > 20_000 || slight.Unsettled != 0 {
		t.Errorf("a little jitter helps: %+v", slight)
	}
	if full.PeakAfter > 4000 || full.Drain > 2*time.Minute || full.Unsettled != 0 {
		t.Errorf("full jitter spreads best: %+v", full)
	}
}

// budget allows one retry for ten successes, after a first thousand.
var budget = &gate.Spec{Name: "shop", Limit: math.MaxInt32, Mode: gate.Release, Budget: gate.Budget{Tokens: 1000, Refund: 0.1}}

// Three retries make four calls of one when all fail; with a budget of 10 % the
// load stays within 1.1 times, whatever the error rate.
func TestR46_ABudgetBoundsTheLoadOfRetries(t *testing.T) {
	var reports []*storm.Report
	for _, rate := range []float64{0.01, 0.1, 0.5, 1} {
		s := storm.Scenario{
			Name: fmt.Sprintf("%v %% errors, 3 retries", 100*rate), Tasks: 100_000, Over: 100 * time.Second,
			Policy:     retry.Policy{MaxAttempts: 4, Jitter: retry.FullJitter},
			Dependency: storm.Server{Capacity: 500, Work: 50 * ms, Queue: 1000},
			Faults:     []storm.Fault{storm.Errors(0, storm.Always, rate)},
		}
		plain := run(t, s)
		s.Name, s.Gate = fmt.Sprintf("%v %% errors, 3 retries, budget", 100*rate), budget
		bounded := run(t, s)
		reports = append(reports, plain, bounded)
		if rate == 1 && plain.CallsPerTask() != 4 {
			t.Errorf("without a budget: %.3f calls per task", plain.CallsPerTask())
		}
		if bounded.CallsPerTask() > 1.1 {
			t.Errorf("%v %% errors: %.3f calls per task", 100*rate, bounded.CallsPerTask())
		}
		if rate == 0.01 && (bounded.Succeeded != bounded.Tasks || bounded.Calls != plain.Calls) {
			t.Errorf("a few errors should cost the budget nothing that is missed: %+v", bounded)
		}
	}
	section(t, "budget", storm.Table(reports...))
}

// What a gate can do for the hundred thousand that come back together.
func TestAGateHoldsBackThoseThatFailedTogether(t *testing.T) {
	gates := []struct {
		name string
		gate *gate.Spec
	}{
		{"no gate", nil},
		{"100 at once, hold", &gate.Spec{Name: "shop", Limit: 100, Mode: gate.Hold}},
		{"100 at once, rejoin", &gate.Spec{Name: "shop", Limit: 100, Mode: gate.Rejoin}},
		{"1,800 a second", &gate.Spec{Name: "shop", Limit: math.MaxInt32, Mode: gate.Rejoin, Rate: gate.Rate{PerSecond: 1800, Burst: 100}}},
		{"100 at once, breaker waits", &gate.Spec{Name: "shop", Limit: 100, Mode: gate.Rejoin, Breaker: gate.Breaker{Failures: 20, Cooldown: 5 * time.Second, Wait: true}}},
		{"100 at once, breaker fails", &gate.Spec{Name: "shop", Limit: 100, Mode: gate.Rejoin, Breaker: gate.Breaker{Failures: 20, Cooldown: 5 * time.Second}}},
	}
	var reports []*storm.Report
	for _, j := range []int{0, 3} {
		for _, g := range gates {
			r := run(t, storm.Scenario{Name: kinds[j].name + ", " + g.name, Tasks: 100_000, Policy: patient(kinds[j].jitter), Gate: g.gate,
				Dependency: shop, Faults: []storm.Fault{storm.Outage(0, time.Minute)}, Until: 10 * time.Minute})
			reports = append(reports, r)
			switch {
			case g.gate == nil:
			case g.gate.Breaker != gate.Breaker{} && !g.gate.Breaker.Wait:
				if r.Reasons[retry.ReasonBreaker] != r.Tasks || r.Calls > 200 {
					t.Errorf("a breaker that fails: %+v", r)
				}
			case r.Succeeded != r.Tasks || r.PeakAfter > 2200 || r.PeakInFlight > 200 || r.Drain > 80*time.Second:
				t.Errorf("with a gate all is well soon after: %+v", r)
			}
		}
	}
	section(t, "gates", storm.Table(reports...))
	brief(t, "gates", reports[1], reports[4], reports[7], reports[10])
}

// Retry-After replaces jitter. A server that tells everybody the same time gets
// everybody at that time, unless a gate stands between.
func TestRetryAfterBringsThemBackTogether(t *testing.T) {
	outage := storm.Outage(0, time.Minute)
	s := storm.Scenario{Tasks: 100_000, Policy: patient(retry.FullJitter), Until: 6 * time.Minute}
	experiment := func(name string, errors, refusals time.Duration, g *gate.Spec) *storm.Report {
		outage.RetryAfter = errors
		server := shop
		server.RetryAfter = refusals
		s.Name, s.Faults, s.Dependency, s.Gate = name, []storm.Fault{outage}, server, g
		return run(t, s)
	}
	const ask = 10 * time.Second
	none := experiment("no Retry-After", 0, 0, nil)
	some := experiment("errors ask for 10 s", ask, 0, nil)
	all := experiment("refusals for want of room too", ask, ask, nil)
	gated := experiment("the same, 100 at once", ask, ask, &gate.Spec{Name: "shop", Limit: 100, Mode: gate.Rejoin})
	section(t, "retry-after", storm.Table(none, some, all, gated))

	if none.PeakAfter > 4000 || some.PeakAfter < 95_000 || all.PeakAfter < 95_000 || all.Unsettled < 50_000 {
		t.Errorf("%+v\n%+v\n%+v", none, some, all)
	}
	if gated.PeakAfter > 2200 || gated.Unsettled != 0 {
		t.Errorf("%+v", gated)
	}
}

// A queue that is longer than the patience of those in it keeps a server at work
// for nobody, long after the fault that filled it.
func TestAStormOutlivesItsCause(t *testing.T) {
	policy := patient(retry.FullJitter)
	policy.AttemptTimeout = 2 * time.Second
	gates := []struct {
		name string
		gate *gate.Spec
	}{
		{"no gate", nil},
		{"budget of 10 %", budget},
		{"1,800 a second", &gate.Spec{Name: "shop", Limit: math.MaxInt32, Mode: gate.Rejoin, Rate: gate.Rate{PerSecond: 1800, Burst: 100}}},
		{"100 at once", &gate.Spec{Name: "shop", Limit: 100, Mode: gate.Rejoin}},
	}
	var reports []*storm.Report
	for _, g := range gates {
		r := run(t, storm.Scenario{Name: g.name, Tasks: 100_000, Over: 100 * time.Second, Policy: policy, Gate: g.gate,
			Dependency: storm.Server{Capacity: 100, Work: 50 * ms, Queue: 10_000},
			Faults:     []storm.Fault{storm.Slow(30*time.Second, 40*time.Second, 10)}, Until: 10 * time.Minute})
		reports = append(reports, r)
		if g.gate == nil && r.Unsettled < r.Tasks/2 || g.gate != nil && (r.Unsettled != 0 || r.Drain > 2*time.Minute) {
			t.Errorf("%s: %+v", g.name, r)
		}
	}
	section(t, "outlives", storm.Table(reports...))
	brief(t, "outlives", reports[0], reports[1], reports[3])
	load(t, "storm-outlives.svg", "Calls a second: ten slow seconds, and callers that time out", 100, 1e4, chart.Span{Name: "slow", From: 30, To: 40}, reports[0], reports[1], reports[3])
}

// Tasks that come one by one are spread already.
func TestJitterMattersLessWhereTasksComeOneByOne(t *testing.T) {
	var reports []*storm.Report
	least, most := 1<<30, 0
	for _, k := range kinds {
		r := run(t, storm.Scenario{Name: k.name, Tasks: 100_000, Over: 2 * time.Minute, Policy: patient(k.jitter), Dependency: shop,
			Faults: []storm.Fault{storm.Outage(30*time.Second, 90*time.Second)}})
		reports = append(reports, r)
		least, most = min(least, r.PeakAfter), max(most, r.PeakAfter)
		if r.Succeeded != r.Tasks || r.Drain > 100*time.Second {
			t.Errorf("%+v", r)
		}
	}
	section(t, "one-by-one", storm.Table(reports...))
	if most > 2*least {
		t.Errorf("peaks of %d to %d", least, most)
	}
}
