package torture

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/rpc"
	"os"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/store"
)

// Host is the program that a process of ours is.
type Host struct {
	// Opener opens the database that a setup names.
	Opener func(Setup) (store.Opener, error)
	// Options are what a node has besides. It may be nil.
	Options func(Setup, *witness.Pen) []perdure.Option
	// Start starts a run of a workflow that witness does not know. It may be nil.
	Start func(context.Context, *perdure.Engine, Request) (run string, known bool, err error)
}

// Serve lets this process be told by its parent what to be, through its standard input and
// output, until the parent lets go, or is gone.
func Serve(h Host) error {
	server := rpc.NewServer()
	if err := server.RegisterName("Node", &service{host: h}); err != nil {
		return err
	}
	server.ServeConn(parent{os.Stdin, os.Stdout})
	return nil
}

// parent is how a process hears and answers.
type parent struct {
	io.Reader
	io.WriteCloser
}

// service is what the parent can ask of a process. Every exported method is a call of net/rpc.
type service struct {
	host   Host
	opened atomic.Pointer[perdure.Engine]
}

// ask asks the engine of the process, once that is open.
func (s *service) ask(question func(context.Context, *perdure.Engine) error) error {
	if e := s.opened.Load(); e != nil {
		return question(context.Background(), e)
	}
	return errors.New("the process is not open yet")
}

// Setup is what a process is told at first.
type Setup struct {
	Database    string
	Book        string
	Label       string        // how it signs in the book
	Name        string        // perdure.NodeName; none if empty
	Concurrency int           // 16 if 0
	Lease       time.Duration // the usual one if 0
	Pooled      bool          // a pooler in transaction mode is in between
	Worker      bool          // it serves the queue and nothing else
	Build       string        // of which the node says it is, and its version of the route; none: that of the executable
	Queue       int           // how many attempts of the queue it runs at a time; none if not above 0
	Postings    string        // the table that the bank writes to, if there is a bank
	Log         slog.Level    // what it writes to its standard error
}

// Open makes the process what the setup says.
func (s *service) Open(in Setup, _ *struct{}) error {
	pen, err := witness.NewPen(in.Book, in.Label)
	if err != nil {
		return err
	}
	witness.Postings(in.Postings)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: in.Log}))
	options := []perdure.Option{perdure.Concurrency(cmp.Or(in.Concurrency, 16)), perdure.MaxResident(20), perdure.Logger(log)}
	if in.Lease > 0 {
		options = append(options, perdure.Lease(in.Lease))
	}
	if in.Worker {
		options = append(options, witness.Worker(pen))
	} else {
		options = append(options, witness.Definitions(pen))
	}
	if in.Queue > 0 {
		options = append(options, witness.Serves(in.Queue))
	}
	if in.Build != "" && !in.Worker {
		options = append(options, witness.Routed(in.Build)...)
	}
	if in.Name != "" {
		options = append(options, perdure.NodeName(in.Name))
	}
	if s.host.Options != nil {
		options = append(options, s.host.Options(in, pen)...)
	}
	db, err := s.host.Opener(in)
	if err != nil {
		return err
	}
	ctx := context.Background()
	eng, err := perdure.Open(ctx, db, options...)
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
func (s *service) Start(in Request, run *string) error {
	return s.ask(func(ctx context.Context, e *perdure.Engine) (err error) {
		if s.host.Start != nil {
			id, known, err := s.host.Start(ctx, e, in)
			if known {
				*run = id
				return err
			}
		}
		*run, err = witness.Start(ctx, e, in.Shape, in.ID, in.Value)
		return err
	})
}

// Signal sends a run its numbered signal.
func (s *service) Signal(in Request, _ *struct{}) error {
	return s.ask(func(ctx context.Context, e *perdure.Engine) error { return witness.Signal(ctx, e, in.ID, in.Value) })
}

// Result waits for a run.
func (s *service) Result(id string, out *int) error {
	return s.ask(func(ctx context.Context, e *perdure.Engine) (err error) {
		*out, err = perdure.Attach[int](e, id).Result(ctx)
		return err
	})
}

// Health returns what keeps the process from working.
func (s *service) Health(_ struct{}, problem *string) error {
	return s.ask(func(_ context.Context, e *perdure.Engine) error {
		if err := e.Health(); err != nil {
			*problem = err.Error()
		}
		return nil
	})
}

// Stop stops the engine, which waits so long for attempts that run.
func (s *service) Stop(patience time.Duration, _ *struct{}) error {
	return s.ask(func(ctx context.Context, e *perdure.Engine) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return e.Stop(ctx)
	})
}
