package telemetry

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bridge"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/telemetry/internal/metric"
	"github.com/perdure/perdure/view"
)

// Every is how old the part of a scrape that is read from the database may be, and Limit
// how long reading it may take: what was read last is told after that.
const (
	Every = 15 * time.Second
	Limit = 5 * time.Second
)

// maxWaits is how many kinds of waits are told apart; the rest is "other".
const maxWaits = 100

var gaugeDefinitions = []metric.Definition{
	gauge("perdure_residents", "Runs in the memory of this process."),
	gauge("perdure_attempts_running", "Attempts that run in this process."),
	gauge("perdure_slots", "Attempts that may run at a time in this process."),
	gauge("perdure_partitions", "Partitions that this process serves; 0 of one that only asks."),
	gauge("perdure_stuck_turns", "Turns of workflow code that never ended; their goroutines are lost until a restart."),
	gauge("perdure_database_away", "1 while the database, or the way to it, does not answer."),
	gauge("perdure_live", "0 if only a restart of the process helps."),
	gauge("perdure_ready", "0 if requests should go to another process."),
}

var groupDefinitions = []metric.Definition{
	gauge("perdure_runs", "Runs by status, such as parked and waiting-for-code.", "status"),
	gauge("perdure_calls", "Open calls by state, such as quarantined, paused, gated and backoff; running first attempts are not counted.", "state"),
	gauge("perdure_waiting", "Calls and runs by what they wait for; at most about 1,000 of each kind are looked at.", "for", "activity", "gate"),
	gauge("perdure_waiting_oldest_seconds", "How long the one has waited that has waited longest.", "for", "activity", "gate"),
	gauge("perdure_breaker_open", "1 of a gate whose circuit breaker is open; absent else.", "gate"),
	gauge("perdure_nodes", "Nodes of the group by state.", "state"),
	gauge("perdure_served", "0 if no live node takes work."),
	gauge("perdure_attention", "1 if something waits that neither time nor a person's decision ends."),
	gauge("perdure_status_age_seconds", "How old the metrics of the group in this scrape are."),
	gauge("perdure_status_failed", "1 if they could not be read when it was time to."),
}

// What is always told, with 0 where there is none.
var (
	statuses = []string{
		view.StatusRunning, view.StatusWaitingForCode, view.StatusParked, view.StatusPaused, view.StatusCompleted, view.StatusFailed,
		view.StatusCanceled, view.StatusTerminated, view.StatusTimedOut, view.StatusContinued,
	}
	callStates = []string{
		view.CallRunning, view.CallQueued, view.CallGated, view.CallBackoff, view.CallExternal, view.CallPaused, view.CallQuarantined,
	}
	nodeStates = []string{view.NodeLive, view.NodeDraining, view.NodeExpired}
)

// snapshot is what was read from the database last.
type snapshot struct {
	reading chan struct{} // has room for one

	mu     sync.Mutex
	once   sync.Once
	status *view.Status
	at     time.Time // of this process
	tried  time.Time
	failed bool
}

// Handler returns a handler that serves the metrics of an engine in Prometheus' text
// format. A process that only looks at a database needs no more than
//
//	http.Handle("/metrics", telemetry.New().Handler(eng))
//
// It asks for no credentials: mount it where only the scraper comes, or behind a handler
// that does. It is safe for concurrent use; scrapes share what is read from the
// database.
func (m *Metrics) Handler(e *perdure.Engine) http.Handler {
	inner := bridge.Engine(e)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		var page bytes.Buffer
		families := append(m.counted(), gaugeFamilies(inner.Gauges())...)
		_ = metric.Write(&page, append(families, m.group.families(r.Context(), e)...)) // a buffer takes all
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(page.Len()))
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(page.Bytes()) // the client may be gone
	})
}

// families are those of the group, read again if they are too old.
func (s *snapshot) families(ctx context.Context, e *perdure.Engine) []metric.Family {
	s.once.Do(func() { s.reading = make(chan struct{}, 1) })
	s.mu.Lock()
	due := s.tried.IsZero() || time.Since(s.tried) >= Every
	s.mu.Unlock()
	if due {
		s.read(ctx, e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return groupFamilies(s.status, s.at, s.failed)
}

// read reads the status, unless another scrape does.
func (s *snapshot) read(ctx context.Context, e *perdure.Engine) {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Limit)
	defer cancel()
	status, err := ops.Status(ctx, e)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried, s.failed = time.Now(), err != nil
	if err == nil {
		s.status, s.at = status, s.tried
	}
}

func one(d metric.Definition, v float64) metric.Family {
	return metric.Family{Definition: d, Samples: []metric.Sample{{Value: v}}}
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func gaugeFamilies(g engine.Gauges) (all []metric.Family) {
	for i, v := range []float64{
		float64(g.Residents), float64(g.Running), float64(g.Slots), float64(g.Partitions), float64(g.StuckTurns),
		flag(g.Away), flag(g.Live), flag(g.Ready),
	} {
		all = append(all, one(gaugeDefinitions[i], v))
	}
	return all
}

// groupFamilies are those of a status, which may be nil, in the order of their definitions.
func groupFamilies(s *view.Status, at time.Time, failed bool) []metric.Family {
	all := make([]metric.Family, len(groupDefinitions))
	for i, d := range groupDefinitions {
		all[i].Definition = d
	}
	last := len(all) - 1
	all[last].Samples = []metric.Sample{{Value: flag(failed)}}
	if s == nil {
		return all
	}
	add := func(i int, v float64, labels ...string) {
		all[i].Samples = append(all[i].Samples, metric.Sample{Labels: labels, Value: v})
	}
	for _, status := range statuses {
		add(0, float64(s.Runs[status]), status)
	}
	for _, state := range callStates {
		add(1, float64(s.Calls[state]), state)
	}
	for _, w := range s.Waiting {
		activity := w.Name
		if w.Gate != "" {
			activity = "" // that of the example is as good as any other
		}
		add(2, float64(w.Count), w.For, activity, w.Gate)
		if w.Since != nil {
			add(3, max(s.Time.Sub(*w.Since).Seconds(), 0), w.For, activity, w.Gate)
		}
		if w.For == view.WaitBreaker {
			add(4, 1, w.Gate)
		}
	}
	all[2].Samples, all[3].Samples = metric.Bounded(all[2].Samples, maxWaits, true), metric.Bounded(all[3].Samples, maxWaits, false)
	all[4].Samples = metric.Bounded(all[4].Samples, maxWaits, true)
	nodes := map[string]int{}
	for _, n := range s.Nodes {
		nodes[n.State]++
	}
	for _, state := range nodeStates {
		add(5, float64(nodes[state]), state)
	}
	add(6, flag(s.Served))
	add(7, flag(s.Attention))
	add(8, time.Since(at).Seconds())
	return all
}
