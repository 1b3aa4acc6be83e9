package measure

import (
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/telemetry/internal/metric"
	"github.com/perdure/perdure/view"
)

// How many distinct values labels may have, and how many series one metric; further ones
// count as "other". Names of activities and workflows are the program's, and types of
// errors may be anybody's.
const (
	maxNames      = 200
	maxErrorTypes = 50
	maxOutcomes   = 20
	maxSeries     = 1000
	maxWaits      = 100 // kinds of waits, and gates
)

// Row is a metric of the table.
type Row struct {
	metric.Definition
	// Group says that it is about the whole group, read from the database; else it is
	// about the process.
	Group bool
	// Series is how many series it has at most.
	Series int
}

// Table returns all metrics, in the order in which they are written.
func Table() (all []Row) {
	for _, c := range New().counted() {
		all = append(all, Row{c.Family().Definition, false, c.Series()})
	}
	for _, g := range gauges {
		all = append(all, Row{g.Definition, false, 1})
	}
	for _, g := range groupGauges {
		all = append(all, Row{g.Definition, true, g.most})
	}
	return append(all, Row{groupFailed, true, 1})
}

func counter(name, help string, labels ...string) metric.Definition {
	return metric.Definition{Name: name, Kind: metric.Counter, Labels: labels, Help: help}
}

func gauge(name, help string, labels ...string) metric.Definition {
	return metric.Definition{Name: name, Kind: metric.Gauge, Labels: labels, Help: help}
}

func vector(d metric.Definition, bounds ...int) *metric.Vector {
	return metric.NewVector(d, maxSeries, bounds...)
}

var latencies = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// lengths are for what takes from milliseconds to days; there may be many names, so they are few.
var lengths = []float64{0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200, 86400}

func distribution(name, help string) *metric.Distribution {
	return metric.NewDistribution(metric.Definition{Name: name, Kind: metric.Histogram, Help: help}, 1, latencies...)
}

// lengthsOf is a histogram for each name.
func lengthsOf(name, help, label string) *metric.Distribution {
	return metric.NewDistribution(metric.Definition{Name: name, Kind: metric.Histogram, Labels: []string{label}, Help: help}, maxNames+1, lengths...)
}

// New returns Metrics that have counted nothing.
func New() *Metrics {
	return &Metrics{
		turns:     vector(counter("perdure_turns_total", "Turns of runs that this process made durable.")),
		commits:   vector(counter("perdure_commits_total", "Transactions that wrote turns, failed ones included.")),
		committed: distribution("perdure_commit_seconds", "Duration of a transaction of turns."),
		started: vector(counter("perdure_runs_started_total", "Runs whose code began in this process, runs that continue or retry another one included.",
			"workflow"), maxNames),
		ended: vector(counter("perdure_runs_ended_total", "Runs that ended in this process, by status.", "workflow", "status"), maxNames, maxOutcomes),
		calls: vector(counter("perdure_calls_total",
			"Calls of activities and steps that ended, by outcome: first_try, recovered, exhausted (gave up), failed (a terminal error), canceled, by_hand. Successes at the first try are counted up to 32 late.",
			"activity", "outcome"), maxNames, maxOutcomes),
		failures: vector(counter("perdure_attempts_failed_total", "Attempts that did not succeed, by outcome and error type.",
			"activity", "outcome", "error_type"), maxNames, maxOutcomes, maxErrorTypes),
		retries: vector(counter("perdure_retries_total", "Failed attempts that were retried, by error type.",
			"activity", "error_type"), maxNames, maxErrorTypes),
		lost: vector(counter("perdure_attempts_lost_total", "Attempts lost because their process or its lease ended first, by reason.",
			"activity", "reason"), maxNames, maxOutcomes),
		questions: vector(counter("perdure_questions_total", "Questions about attempts that may have had their effect, by answer: found, absent, unknown.",
			"activity", "answer"), maxNames, maxOutcomes),
		backoff: vector(counter("perdure_backoff_seconds_total", "Backoff that was chosen for retries.", "activity"), maxNames),
		run:     lengthsOf("perdure_run_seconds", "How long runs that ended in this process took, from their start; each run of a chain counts.", "workflow"),
		worked:  lengthsOf("perdure_attempt_seconds", "How long attempts took whose end this process made durable, whatever their outcome; lost ones are not counted.", "activity"),
		late:    distribution("perdure_lateness_seconds", "How late timers fired and backoffs ended; the latest of each turn."),
		waited:  distribution("perdure_attempt_wait_seconds", "How long due attempts waited for gates and a slot."),
	}
}

// gauges are how an engine stands in memory.
var gauges = []struct {
	metric.Definition
	read func(g engine.Gauges) float64
}{
	{gauge("perdure_residents", "Runs in the memory of this process."), func(g engine.Gauges) float64 { return float64(g.Residents) }},
	{gauge("perdure_attempts_running", "Attempts running in this process."), func(g engine.Gauges) float64 { return float64(g.Running) }},
	{gauge("perdure_slots", "Attempts that may run at the same time in this process."), func(g engine.Gauges) float64 { return float64(g.Slots) }},
	{gauge("perdure_partitions", "Partitions that this process serves; 0 in a process that is only a client."), func(g engine.Gauges) float64 { return float64(g.Partitions) }},
	{gauge("perdure_stuck_turns", "Turns of workflow code that never ended; a restart frees their goroutines."), func(g engine.Gauges) float64 { return float64(g.StuckTurns) }},
	{gauge("perdure_swept_timestamp_seconds", "When this process last ended a sweep of what retention does not keep, in Unix time; 0 before the first."), func(g engine.Gauges) float64 { return float64(g.Swept) / 1e9 }},
	{gauge("perdure_database_away", "1 while the database does not answer or cannot be reached."), func(g engine.Gauges) float64 { return flag(g.Away) }},
	{gauge("perdure_live", "0 if only a restart of the process helps."), func(g engine.Gauges) float64 { return flag(g.Live) }},
	{gauge("perdure_ready", "0 if requests should go to another process."), func(g engine.Gauges) float64 { return flag(g.Ready) }},
}

// adder takes a value of a metric, of the label values in the order of its labels.
type adder func(v float64, labels ...string)

// groupGauges are read from the database. Values with the same labels are summed up if sum
// says so; else the greatest counts. More than most series are one.
var groupGauges = []struct {
	metric.Definition
	most int
	sum  bool
	read func(g *group, add adder)
}{
	{gauge("perdure_runs", "Runs by status, such as parked and waiting-for-code.", "status"), len(statuses), true, func(g *group, add adder) {
		for _, status := range statuses {
			add(float64(g.status.Runs[status]), status)
		}
	}},
	{gauge("perdure_calls", "Open calls by state, such as quarantined, paused, gated and backoff; running first attempts are not counted.", "state"), len(callStates), true,
		func(g *group, add adder) {
			for _, state := range callStates {
				add(float64(g.status.Calls[state]), state)
			}
		}},
	{gauge("perdure_waiting", "Calls and runs by what they wait for; counts at most about 1,000 of each kind.", "for", "activity", "gate", "queue"), maxWaits, true,
		func(g *group, add adder) {
			for i := range g.status.Waiting {
				w := &g.status.Waiting[i]
				add(float64(w.Count), waitLabels(w)...)
			}
		}},
	{gauge("perdure_waiting_oldest_seconds", "How long the oldest of them has waited.", "for", "activity", "gate", "queue"), maxWaits, false,
		func(g *group, add adder) {
			for i := range g.status.Waiting {
				if w := &g.status.Waiting[i]; w.Since != nil {
					add(max(g.status.Time.Sub(*w.Since).Seconds(), 0), waitLabels(w)...)
				}
			}
		}},
	{gauge("perdure_key_waiting", "Calls that wait for a slot, a gate or a worker, and runs that wait for others of their key, by run key: the keys of which most wait; the rest is \"other\". Counts as perdure_waiting does.", "key"), view.MaxKeys + 1, true,
		func(g *group, add adder) {
			for i := range g.status.Keys {
				add(float64(g.status.Keys[i].Waiting), g.status.Keys[i].Key)
			}
			if n := g.status.OtherKeys; n > 0 {
				add(float64(n), metric.Other)
			}
		}},
	{gauge("perdure_key_waiting_oldest_seconds", "How long the oldest of them has waited, by key.", "key"), view.MaxKeys, false,
		func(g *group, add adder) {
			for i := range g.status.Keys {
				if k := &g.status.Keys[i]; k.Oldest != nil {
					add(max(g.status.Time.Sub(*k.Oldest).Seconds(), 0), k.Key)
				}
			}
		}},
	{gauge("perdure_breaker_open", "1 if the circuit breaker of the gate is open, 0 if it lets attempts pass.", "gate"), maxWaits, false,
		func(g *group, add adder) {
			for name, open := range g.breakers {
				add(flag(open), name)
			}
		}},
	{gauge("perdure_breaker_open_keys", "Run keys whose circuit breaker is open, by gate that gives each its own.", "gate"), maxWaits, false,
		func(g *group, add adder) {
			for name, n := range g.ofKeys {
				add(float64(n), name)
			}
		}},
	{gauge("perdure_nodes", "Nodes of the group by state.", "state"), len(nodeStates), true, func(g *group, add adder) {
		nodes := map[string]int{}
		for _, n := range g.status.Nodes {
			nodes[n.State]++
		}
		for _, state := range nodeStates {
			add(float64(nodes[state]), state)
		}
	}},
	{gauge("perdure_builds", "Builds of the live nodes that serve runs."), 1, false, func(g *group, add adder) {
		builds := map[string]bool{}
		for _, n := range g.status.Nodes {
			if n.State == view.NodeLive && !n.Worker {
				builds[n.Build] = true
			}
		}
		add(float64(len(builds)))
	}},
	{gauge("perdure_runs_away", "Open runs that another node serves than the owner of their partition: they moved there because its code fits them."), 1, false,
		func(g *group, add adder) { add(float64(g.status.Away)) }},
	{gauge("perdure_served", "0 if no live node takes work."), 1, false, func(g *group, add adder) { add(flag(g.status.Served)) }},
	{gauge("perdure_attention", "1 if something waits that will not continue by itself and that no person decided to hold."), 1, false, func(g *group, add adder) { add(flag(g.status.Attention)) }},
	{gauge("perdure_status_age_seconds", "Age of the metrics of the group in this scrape."), 1, false, func(g *group, add adder) { add(time.Since(g.at).Seconds()) }},
}

// groupFailed is told even when nothing could be read.
var groupFailed = gauge("perdure_status_failed", "1 if the metrics of the group could not be read when they were due.")

// What is always told, with 0 where there is none.
var (
	statuses = []string{
		view.StatusRunning, view.StatusWaitingForCode, view.StatusParked, view.StatusPaused, view.StatusCompleted, view.StatusFailed,
		view.StatusCanceled, view.StatusTerminated, view.StatusTimedOut, view.StatusContinued,
	}
	callStates = []string{
		view.CallRunning, view.CallQueued, view.CallOffered, view.CallGated, view.CallBackoff, view.CallExternal, view.CallPaused, view.CallQuarantined, view.CallInDoubt,
	}
	nodeStates = []string{view.NodeLive, view.NodeDraining, view.NodeExpired}
)

// waitLabels are the values of for, activity, gate and queue.
func waitLabels(w *view.Waiting) []string {
	if w.Gate != "" { // the activity of the example is as good as any other
		return []string{w.For, "", w.Gate, ""}
	}
	return []string{w.For, w.Name, "", w.Queue}
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
