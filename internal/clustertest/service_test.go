package clustertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/rpc"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/store/postgres"
)

// envNode tells the test binary that it is a node.
const envNode = "PERDURE_CLUSTERTEST_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(envNode) == "" {
		flag.Parse()
		if *seed == 0 {
			*seed = rand.Uint64()
		}
		os.Exit(m.Run())
	}
	server := rpc.NewServer()
	if err := server.RegisterName("Node", &Service{}); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
	server.ServeConn(parent{os.Stdin, os.Stdout}) // until the parent lets go, or is gone
	os.Exit(0)
}

// parent is how a node hears and answers.
type parent struct {
	io.Reader
	io.WriteCloser
}

// Service is what the parent can ask of a node. Every method is a call of net/rpc.
type Service struct {
	opened atomic.Pointer[perdure.Engine]
}

// engine is the node's, once it is open.
func (s *Service) engine() (*perdure.Engine, error) {
	if e := s.opened.Load(); e != nil {
		return e, nil
	}
	return nil, errors.New("the node is not open yet")
}

// Setup is what a node is told at first.
type Setup struct {
	Database    string
	Book        string
	Label       string // how it signs in the book
	Name        string // perdure.NodeName; none if empty
	Concurrency int
	Lease       time.Duration
	Pooled      bool   // a pooler in transaction mode is in between
	Worker      bool   // it serves the queue and nothing else
	program     string // the process's executable; none: this one
	Build       string // of which the node says it is, and its version of route; none: that of the executable
	Queue       int    // how many attempts of the queue it runs at a time; negative: none
}

// lease is that of nodes of which nothing else is said.
const lease = 2 * time.Second

// partitions is how many the nodes share.
const partitions = 12

// Open makes the process a node.
func (s *Service) Open(in Setup, _ *struct{}) error {
	pen, err := witness.NewPen(in.Book, in.Label)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	options := []perdure.Option{
		perdure.Lease(in.Lease), perdure.Concurrency(in.Concurrency), perdure.MaxResident(20), perdure.Logger(log),
	}
	if in.Worker {
		options = append(options, witness.Worker(pen))
	} else {
		options = append(options, witness.Definitions(pen), stationDefinitions(pen))
	}
	if in.Queue > 0 {
		options = append(options, witness.Serves(in.Queue))
	}
	if in.Build != "" {
		routed = route(in.Build)
		options = append(options, perdure.Build(in.Build), perdure.Register(routed, pinned))
	}
	if in.Name != "" {
		options = append(options, perdure.NodeName(in.Name))
	}
	ctx := context.Background()
	of := []postgres.Option{postgres.Partitions(partitions)}
	if in.Pooled {
		of = append(of, postgres.Pooled())
	}
	eng, err := perdure.Open(ctx, postgres.URL(in.Database, of...), options...)
	if err != nil {
		return err
	}
	s.opened.Store(eng) // from here on it is a client at least
	return eng.Start(ctx)
}

// Request names a run to start, to wait for, or to tell something.
type Request struct {
	Shape string
	ID    string
	Value int
}

// Start starts a run and answers its run ID.
func (s *Service) Start(in Request, run *string) (err error) {
	e, err := s.engine()
	if err != nil {
		return err
	}
	ctx := context.Background()
	if in.Shape == routed.Name() {
		h, err := perdure.Start(ctx, e, routed, in.ID, in.Value)
		*run = h.RunID()
		return err
	}
	if in.Shape == pinned.Name() {
		h, err := perdure.Start(ctx, e, pinned, in.ID, in.Value)
		*run = h.RunID()
		return err
	}
	if shape := stationNamed(in.Shape); shape != nil {
		h, err := perdure.Start(ctx, e, *shape, in.ID, in.Value)
		*run = h.RunID()
		return err
	}
	*run, err = witness.Start(ctx, e, in.Shape, in.ID, in.Value)
	return err
}

// Signal sends a run its numbered signal.
func (s *Service) Signal(in Request, _ *struct{}) error {
	e, err := s.engine()
	if err != nil {
		return err
	}
	return witness.Signal(context.Background(), e, in.ID, in.Value)
}

// Result waits for a run.
func (s *Service) Result(id string, out *int) (err error) {
	e, err := s.engine()
	if err != nil {
		return err
	}
	*out, err = perdure.Attach[int](e, id).Result(context.Background())
	return err
}

// Health answers what keeps the node from working.
func (s *Service) Health(_ struct{}, problem *string) error {
	e, err := s.engine()
	if err != nil {
		return err
	}
	if err := e.Health(); err != nil {
		*problem = err.Error()
	}
	return nil
}

// Stop stops the engine, which waits so long for attempts that run.
func (s *Service) Stop(patience time.Duration, _ *struct{}) error {
	e, err := s.engine()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return e.Stop(ctx)
}
