package roomtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// Began is the time at which a Scene with a clock of its own begins.
var Began = time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)

// Node is the node of a Scene.
const Node = "node-1"

// Scene is a database whose partitions one node owns: the test.
type Scene struct {
	testing.TB
	DB    store.Store
	Group store.Group

	// Admit grants slots, nil for always.
	Admit func(*core.Call) bool
	// Config changes the machine of each run that is made from here on.
	Config func(*core.Config)
	// Ended and Notify hear of runs that end and of answers, as the engine tells its process.
	Ended  func(workflowID, run string, s core.State)
	Notify func(name string)

	clock  func() int64
	time   int64      // of a clock of its own
	mu     sync.Mutex // of what follows and of the runs: the owner may serve on a goroutine of its own
	codes  map[string]Code
	runs   map[string]*Run
	epochs map[int]int64
}

// New returns a Scene whose clock stands at Began until Pass moves it.
func New(t testing.TB, partitions int) *Scene {
	s := &Scene{TB: t, time: Began.UnixNano()}
	s.clock = func() int64 { return s.time }
	s.open(partitions)
	return s
}

// Live returns a Scene with the clock of package time, for tests inside testing/synctest.
func Live(t testing.TB, partitions int) *Scene {
	s := &Scene{TB: t, clock: func() int64 { return time.Now().UnixNano() }}
	s.open(partitions)
	return s
}

func (s *Scene) open(partitions int) {
	s.Helper()
	s.codes, s.runs, s.epochs = map[string]Code{}, map[string]*Run{}, map[int]int64{}
	var err error
	s.DB, err = memory.New(memory.Partitions(partitions), memory.Clock(func() int64 { return s.clock() })).Open(s.ctx())
	s.Must(err)
	s.Group, err = s.DB.Group(s.ctx(), "")
	s.Must(err)
	s.Must(s.DB.Join(s.ctx(), store.Node{ID: Node, Name: Node, Lease: 24 * time.Hour, Build: "build-1"}))
	s.own(Node)
	s.Cleanup(func() {
		for _, r := range s.runs {
			r.drop()
		}
	})
}

// own makes a node the owner of all partitions.
func (s *Scene) own(node string) {
	s.Helper()
	owned, err := s.DB.Claim(s.ctx(), node, s.Group.All())
	s.Must(err)
	for _, o := range owned {
		s.epochs[o.Partition] = o.Epoch
	}
}

// ctx is not that of the test, which ends before its cleanups run.
func (s *Scene) ctx() context.Context { return context.Background() }

// Must ends the test if there is an error.
func (s *Scene) Must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Now returns the engine time.
func (s *Scene) Now() int64 { return s.clock() }

// Time returns the engine time.
func (s *Scene) Time() time.Time { return time.Unix(0, s.clock()).UTC() }

// Pass moves the clock and serves what is due.
func (s *Scene) Pass(d time.Duration) {
	s.Helper()
	if s.time == 0 {
		time.Sleep(d)
	}
	s.time += int64(d)
	s.Serve()
}

// Define sets the code of a workflow.
func (s *Scene) Define(workflow string, code Code) { s.codes[workflow] = code }

// Setting changes the start event of a run.
type Setting func(*history.Start)

// Begin starts a run of a workflow and makes its first turn.
func (s *Scene) Begin(workflow, id string, settings ...Setting) *Run {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	r, row := s.prepare(workflow, id, settings)
	r.create = row
	r.step()
	return r
}

// Create makes the row of a run that no node has served yet.
func (s *Scene) Create(workflow, id string, settings ...Setting) *Run {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	r, row := s.prepare(workflow, id, settings)
	s.Must(s.DB.Create(s.ctx(), *row))
	delete(s.runs, r.ID) // Serve loads it
	return r
}

func (s *Scene) prepare(workflow, id string, settings []Setting) (*Run, *store.Run) {
	s.Helper()
	run := ident.NewRun(s.Now())
	start := history.Start{
		Kind: history.RunStarted, Format: history.Format, WorkflowID: id, Run: run, Type: workflow, Group: s.Group.Name,
		Chain: run, Attempt: 1, Created: s.Now(), Input: Payload(id),
	}
	for _, set := range settings {
		set(&start)
	}
	row, err := record.NewRun(entity.Place(s.Group, id), &start)
	s.Must(err)
	return s.machine(row.Partition, start), row
}

// machine makes the machine of a run that has no turn yet.
func (s *Scene) machine(partition int, start history.Start) *Run {
	config := core.Config{
		Node: Node, Owner: func(int64) string { return Node }, MaxPending: 1000, MaxHistory: 50_000, MaxBacklog: 1000,
		Draw: func(string, int64, int) float64 { return 0.5 },
	}
	if s.Config != nil {
		s.Config(&config)
	}
	r := &Run{Scene: s, ID: start.Run, WorkflowID: start.WorkflowID, Partition: partition, Core: core.New(config, start)}
	if code := s.codes[start.Type]; code != nil {
		r.Work = begin(r.Core, code)
		r.Core.Bind(program{r.Work})
	}
	s.runs[r.ID] = r
	return r
}

// Load returns a run that is open, from the database if it is not in memory.
func (s *Scene) Load(run string, partition int) *Run {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(run, partition)
}

func (s *Scene) load(run string, partition int) *Run {
	s.Helper()
	if r := s.runs[run]; r != nil {
		return r
	}
	rec, err := s.DB.Load(s.ctx(), partition, run)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	s.Must(err)
	if !rec.Run.Status.Open() {
		return nil
	}
	past, err := record.Decode(rec)
	s.Must(err)
	r := s.machine(partition, past.Start)
	s.Must(r.Core.Load(past.Turns, past.Rows, past.State))
	if len(past.Turns) == 0 {
		r.step()
	} else {
		r.step(core.TakenOver{})
	}
	return r
}

// Latest returns the open run of a workflow ID.
func (s *Scene) Latest(id string) *Run {
	s.Helper()
	row, err := s.DB.Find(s.ctx(), entity.Place(s.Group, id), id, "")
	s.Must(err)
	r := s.Load(row.ID, row.Partition)
	if r == nil {
		s.Fatalf("the run of %s is closed", id)
	}
	return r
}
