package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// ErrGivenUp is the cause of a body's context if the owner of its run has given up the
// attempt: the attempt was lost or timed out, or its call or run has ended.
var ErrGivenUp = errors.New("the attempt was given up: it timed out, its call ended, or this process was taken for dead; nothing that it returns counts")

// Config configures a Server.
type Config struct {
	Store      store.Store
	Group      store.Group
	Name       string // for people
	Lease      time.Duration
	Build      string // of the program
	Queues     []record.Queue
	Activities []string                   // that this process can run
	Paused     func(activity string) bool // in the group
	// Doubted reports whether workers of this build died with calls of an activity, how many
	// calls were alone at that, and whether another may be tried.
	Doubted  func(activity string) (deaths int, doubted, try bool)
	Survived func(activity, attemptID string)           // is told of attempts that ended, or ran for long
	Body     func(run string, t *record.Task) seal.Body // returns nil if there is none
	Slots    *dispatch.Slots                            // of the process
	Ahead    time.Duration                              // how long before its time an attempt may be offered
	Alone    bool                                       // the process serves no runs, so the server sets the clock
	Attempts attempt.Config                             // without Owner and Left
	Watch    *outage.Watch                              // of the database
	Log      *logs.Log
}

// Server claims and runs attempts. It is safe for concurrent use.
type Server struct {
	config   Config
	id       string
	clock    *clock.Clock
	attempts *attempt.Runner
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	kick     clock.Bell // there may be tasks to claim
	look     clock.Bell // claimed tasks may have changed
	ended    clock.Bell
	turns    []store.Turns             // by queue: whose turn it is there; only claims use it
	attended atomic.Pointer[time.Time] // when the last successful Attend was sent

	mu       sync.Mutex
	quiet    *sync.Cond
	held     map[attempt.Key]*held
	ends     []*end
	beats    map[attempt.Key]beat
	unread   map[string]unreadable // by activity
	untold   error                 // why an end cannot be reported
	draining bool
	claiming bool // a claim is in flight
	begun    bool
	short    bool                 // the last claims lacked slots, so tasks may be left
	settled  map[attempt.Key]bool // attempts whose ends became durable since the last Attend began
}

// held is a task that this worker has claimed and whose end is not durable.
type held struct {
	task   store.Task
	queue  int // index in Config.Queues
	slot   *dispatch.Slot
	body   *attempt.Attempt // nil once it has ended
	counts bool             // against the limit of its queue

	cleared bool // a suspect that ran for long, and is one no longer
}

// New returns a server that serves nothing until Register and Start.
func New(ctx context.Context, c Config) *Server {
	s := &Server{
		config: c, id: c.Name + "/" + ident.NewToken()[:8], clock: c.Attempts.Clock,
		kick: clock.NewBell(), look: clock.NewBell(), ended: clock.NewBell(),
		held: map[attempt.Key]*held{}, beats: map[attempt.Key]beat{}, unread: map[string]unreadable{},
		settled: map[attempt.Key]bool{}, turns: make([]store.Turns, len(c.Queues)),
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.quiet = sync.NewCond(&s.mu)
	c.Attempts.Owner, c.Attempts.Left = owner{s}, s.left
	s.attempts = attempt.NewRunner(c.Attempts)
	return s
}

// Register registers the worker. It may be called again if it fails.
func (s *Server) Register(ctx context.Context) error {
	sent := time.Now()
	answer, err := s.config.Store.Attend(ctx, s.worker())
	if err != nil {
		return err
	}
	s.attended.Store(&sent)
	if s.config.Alone {
		s.clock.Begin(answer.Now)
	}
	return nil
}

// Start begins to claim tasks.
func (s *Server) Start() {
	s.mu.Lock()
	s.begun = true
	s.mu.Unlock()
	s.work.Go(s.run)
	s.work.Go(s.settle)
}

// Kick says that there may be tasks to claim, or that claimed tasks may have changed.
func (s *Server) Kick() {
	s.kick.Ring()
	s.look.Ring()
}

// Wake says that calls of an activity may run again.
func (s *Server) Wake() { s.kick.Ring() }

// Freed says that a slot may be free. It claims only if the last claims lacked slots:
// otherwise all waiting tasks were claimed, and new ones are announced.
func (s *Server) Freed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.short {
		s.kick.Ring()
	}
}

// Running returns how many attempts run or have an end that is not durable.
func (s *Server) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

// Health returns what keeps the server from its work, nil if nothing does.
func (s *Server) Health() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun && !s.draining && clock.Passed(*s.attended.Load(), time.Now()) > s.config.Lease {
		return errors.New("this process serves queues, and could not show a sign of life for longer than its lease: others may run its attempts " + see.Workers)
	}
	return cmp.Or(s.unreadHealth(), s.untold, s.attempts.Health())
}

// Stop ends the server. It claims nothing more and lets attempts run until ctx ends. Then it
// cancels their bodies, and gives them up after a second. No attempt is charged for that.
func (s *Server) Stop(ctx context.Context) {
	s.mu.Lock()
	s.draining = true
	begun := s.begun
	s.mu.Unlock()
	if !begun {
		s.cancel()
		return
	}
	s.Kick()
	none := func() bool { return len(s.held) == 0 && !s.claiming }
	clock.Await(ctx, s.quiet, none)
	s.attempts.Interrupt()
	for _, patience := range []time.Duration{time.Second, 5 * time.Second} {
		grace, cancel := context.WithTimeout(context.Background(), patience)
		clock.Await(grace, s.quiet, none)
		cancel()
		s.attempts.GiveUp()
	}
	s.Kill()
	bye, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	w := s.worker()
	w.Left = true
	_, _ = s.config.Store.Attend(bye, w) // if this fails, the lease expires
}

// Kill ends the server as a crash would: it writes nothing more.
func (s *Server) Kill() {
	s.cancel()
	s.attempts.Interrupt()
	s.work.Wait()
}

// left returns for how long it is certain that nobody takes this process for dead.
func (s *Server) left() time.Duration {
	return clock.LeaseLeft(s.config.Lease, *s.attended.Load(), time.Now())
}

// worker returns the row of this process.
func (s *Server) worker() store.Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	serves, _ := json.Marshal(record.Serves{Queues: s.config.Queues, Activities: s.config.Activities, Alone: s.config.Alone, Build: s.config.Build}) // cannot fail
	return store.Worker{ID: s.id, Name: s.config.Name, Group: s.config.Group.Name, Lease: s.config.Lease, Serves: serves, Draining: s.draining}
}

// claimEvery is how often the server claims without a notification. lookEvery is the shortest
// time between two checks of claimed tasks that notifications cause.
const (
	claimEvery = 5 * time.Second
	lookEvery  = 200 * time.Millisecond
)

// run claims tasks and checks those that are claimed.
func (s *Server) run() {
	beat := time.NewTicker(s.config.Lease / 3)
	defer beat.Stop()
	poll := time.NewTimer(0)
	defer poll.Stop()
	var looked time.Time
	var again <-chan time.Time // a check that was put off
	for {
		attend, told, claim := false, false, false
		select {
		case <-s.ctx.Done():
			return
		case <-beat.C:
			attend = true
		case <-again:
			attend = true
		case <-s.look:
			told = true
		case <-s.kick:
			claim = true
		case <-poll.C:
			claim = true
		}
		select {
		case <-s.look: // one check does for all that ask for it, and comes before a claim
			told = true
		default:
		}
		if told && !attend && s.Running() > 0 && again == nil {
			wait := lookEvery - time.Since(looked)
			if attend = wait <= 0; !attend {
				again = time.After(wait)
			}
		}
		if attend {
			looked, again = time.Now(), nil
			s.attend()
		}
		if claim {
			s.claimAll()
			poll.Reset(claimEvery)
		}
	}
}

// attend renews the lease and cancels bodies whose tasks are no longer this worker's.
func (s *Server) attend() {
	s.mu.Lock()
	clear(s.settled)
	s.mu.Unlock()
	sent := time.Now()
	answer, err := s.config.Store.Attend(s.ctx, s.worker())
	if err != nil {
		return // it is tried again; Health reports a long outage
	}
	s.clock.Observe(answer.Now)
	s.attended.Store(&sent)
	s.mu.Lock()
	defer s.mu.Unlock()
	still := map[attempt.Key]store.HeldTask{}
	for _, t := range answer.Held {
		k := keyOf(t.TaskRef)
		still[k] = t
		if s.held[k] == nil && !s.settled[k] { // the reply to its claim was lost
			s.returns(k, &held{task: store.Task{TaskRef: t.TaskRef}})
		}
	}
	for k, h := range s.held {
		t, is := still[k]
		switch {
		case h.body == nil:
		case !is:
			h.body.Abort(ErrGivenUp)
		case t.Stopped:
			h.body.Cancel()
		}
	}
	s.ended.Ring()
}

func keyOf(t store.TaskRef) attempt.Key {
	return attempt.Key{Run: t.Run, Call: t.Number, Number: t.Attempt}
}

// claimAll claims as many tasks as there are slots.
func (s *Server) claimAll() {
	s.setShort(true) // a slot that comes free meanwhile may be the one that is missing
	short := false
	for i := range s.config.Queues {
		names, doubtful := s.claimable()
		for _, name := range doubtful {
			s.claim(i, []string{name}, 1)
		}
		for _, name := range s.tried() {
			if one, _ := s.claim(i, []string{name}, 1); one {
				break
			}
		}
		more, left := true, false
		for more {
			more, left = s.claim(i, names, maxClaim)
			names, _ = s.claimable()
		}
		short = short || left
	}
	s.setShort(short)
}

func (s *Server) setShort(short bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.short = short
}

// claim claims at most most tasks of some activities in a queue. It reports whether there may
// be more, and whether tasks may be left for lack of a slot.
func (s *Server) claim(i int, names []string, most int) (more, left bool) {
	q := s.config.Queues[i]
	free := min(s.free(i), most)
	if len(names) == 0 || free <= 0 {
		return false, true
	}
	var slots []*dispatch.Slot
	for range free {
		slot := s.config.Slots.Take(dispatch.Regular)
		if slot == nil {
			break
		}
		slots = append(slots, slot)
	}
	defer func() {
		for _, slot := range slots {
			s.config.Attempts.Granted(slot.Free())
		}
	}()
	if len(slots) == 0 {
		return false, true
	}
	s.mu.Lock()
	s.claiming = !s.draining
	draining := s.draining
	s.mu.Unlock()
	if draining {
		return false, false
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.claiming = false
		s.quiet.Broadcast()
	}()
	lane := s.config.Slots.Take(dispatch.Probation)
	laneTaken := lane == nil // a suspect would have to wait
	defer func() {
		s.config.Attempts.Granted(lane.Free())
	}()
	claim := store.TaskClaim{Worker: s.id, Partitions: s.config.Group, Queue: q.Name, Names: names, Suspects: lane != nil, Turns: s.turns[i]}
	claim.Limit = len(slots)
	claimed, err := s.config.Store.ClaimTasks(s.ctx, claim)
	if err != nil {
		return false, true // it is tried again; Health reports a long outage
	}
	usual := claimed
	if len(usual) > 0 && usual[0].Suspect {
		usual = usual[1:]
	}
	s.turns[i] = store.After(claim.Turns, usual, store.KeyOfTask)
	for _, t := range claimed {
		slot := slots[0]
		if t.Suspect {
			slot, lane = lane, nil
		} else {
			slots = slots[1:]
		}
		s.begin(t, i, slot)
	}
	// Of several keys each was asked for its part, and some may have had less.
	more = len(claimed) == claim.Limit || len(usual) > 0 && usual[0].Key != usual[len(usual)-1].Key
	return more, more || laneTaken
}

// free returns how many more attempts of a queue may run.
func (s *Server) free(i int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return 0
	}
	n := s.config.Queues[i].Limit
	for _, h := range s.held {
		if h.counts && h.queue == i {
			n--
		}
	}
	return n
}

// maxClaim is how many tasks one call claims.
const maxClaim = 100

// begin runs a claimed attempt.
func (s *Server) begin(t store.Task, queue int, slot *dispatch.Slot) {
	var data record.Task
	h := &held{task: t, queue: queue, slot: slot, counts: true}
	k := keyOf(t.TaskRef)
	err := record.LoadTask(&t, &data)
	d := data.Dispatch
	if d.Call != t.Number || err != nil {
		s.cannotRead(t.Name, err)
		s.giveBack(k, h)
		return
	}
	s.canRead(t.Name)
	body := s.config.Body(t.Run, &data)
	s.clock.AtLeast(d.Queued - int64(s.config.Ahead))        // the owner's time, even if the database's clock was set back
	d.Started = max(d.Queued, min(t.Claimed, s.clock.Now())) // it may have been offered ahead of its time
	s.mu.Lock()
	draining := s.draining
	if !draining {
		s.held[k] = h
	}
	s.mu.Unlock()
	if draining {
		s.giveBack(k, h)
		return
	}
	info := activity.Info{
		WorkflowID: data.WorkflowID, RunID: t.Run, Workflow: data.Workflow, CallID: data.CallID, AttemptID: core.AttemptID(t.Run, d.Call, d.Attempt),
		Started: time.Unix(0, t.Claimed), Headers: data.Headers,
	}
	s.attempts.Begin(attempt.Spec{
		Run: t.Run, Tenure: dispatch.Tenure{Partition: t.Partition}, Dispatch: d, Info: info, Body: body, Slot: slot,
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.counts { // else it has ended
		h.body = s.attempts.Get(k)
	}
}
