package request

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/steptx"
	"github.com/perdure/perdure/store"
)

// ErrStopped says that the process is shutting down and takes no requests.
var ErrStopped = errors.New("the engine is stopped; open a new one to continue")

// Config configures a Client.
type Config struct {
	DB    Database
	Read  *inspect.Inspector
	Group store.Group
	// Lacks says why requests with payloads are refused: the program lacks the database's
	// codecs. It is nil if it has them.
	Lacks error
	// Secret is the secret of the database. It signs tokens.
	Secret []byte
	// Node is the name of this process for audit records of requests that do not say who
	// asks.
	Node string
	// Now returns engine time, in nanoseconds since 1970.
	Now func() int64
	// Runner runs functions of users inside transactions.
	Runner *steptx.Runner
	// Local is the engine of this process, nil if it has none.
	Local Local
	// Fits returns an error if a result is not of the type that an activity returns. It knows
	// the activities of this program only; nil knows none.
	Fits func(activity string, result history.Payload) error
	// Around are the interceptors, nil for none.
	Around *around.Chain
	// Moves says that the database lets runs move among nodes.
	Moves bool
}

// Database is the part of a store that a Client uses.
type Database interface {
	store.Client
	store.Reader

	// Info is that of store.Store, Sealed that of store.Copies.
	Info() store.Info
	Sealed(ctx context.Context) (store.Seal, error)
}

// Local is the engine of this process. Its methods are safe for concurrent use.
type Local interface {
	// Create makes a run durable, together with its first turn if there is room for that.
	// It waits a little for room, or longer if the caller waits for the run's end. If this
	// process does not serve the partition, Create does nothing and returns false.
	Create(ctx context.Context, row *store.Run, start *history.Start, forEnd bool) (served bool, err error)
	// Serves reports whether this process serves the partition, and whether the run is in
	// memory and therefore open. The engine calls Ended when a run of a served partition
	// ends, and Moved when it begins or stops serving a partition.
	Serves(partition int, run string) (served, resident bool)
	// Posted says that an inbox has a new message.
	Posted()
	// Switched says that the log of switches of the group has a new entry.
	Switched(ctx context.Context)
	// Query asks the code of a run. It returns false if this process does not serve the
	// run. ErrMoved says that it stopped serving the run meanwhile, and the caller should
	// ask again.
	Query(ctx context.Context, row *store.Run, name string, input history.Payload) (answer history.Payload, served bool, err error)
}

// ErrMoved says that another process serves the run now.
var ErrMoved = errors.New("the run moved elsewhere")

// noEngine is the Local of a process without an engine.
type noEngine struct{}

func (noEngine) Create(context.Context, *store.Run, *history.Start, bool) (bool, error) {
	return false, nil
}
func (noEngine) Serves(int, string) (served, resident bool) { return false, false }
func (noEngine) Posted()                                    {}
func (noEngine) Switched(context.Context)                   {}
func (noEngine) Query(context.Context, *store.Run, string, history.Payload) (history.Payload, bool, error) {
	return history.Payload{}, false, nil
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	db     Database
	read   *inspect.Inspector
	group  store.Group
	secret []byte
	node   string
	now    func() int64
	runner *steptx.Runner
	local  Local
	fits   func(activity string, result history.Payload) error
	around *around.Chain
	moves  bool // runs may move among nodes

	fault error // why no requests are possible, nil if they are
	lacks error // why no requests with payloads are possible, nil if they are

	topics  topics
	lately  lately
	waiters waiters
	poller  poller
	working sync.WaitGroup // counts the poller

	// ctx ends when the Client is closed.
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns a Client. It works until it is closed.
func New(config Config) *Client {
	c := &Client{
		read: config.Read, group: config.Group, lacks: config.Lacks, secret: config.Secret, node: config.Node,
		now: config.Now, runner: config.Runner, local: config.Local, fits: config.Fits, around: config.Around, moves: config.Moves,
		topics: topics{byName: map[string]*topic{}}, poller: newPoller(),
	}
	if c.local == nil {
		c.local = noEngine{}
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.db = insistent{config.DB, c.ctx.Done()}
	return c
}

// Refusing returns a Client whose verbs all return err.
func Refusing(err error) *Client {
	return &Client{fault: err, read: inspect.Refusing(err), now: func() int64 { return 0 }, local: noEngine{}}
}

// Close makes all verbs return ErrStopped, including those in progress. The database stays
// open.
func (c *Client) Close() {
	c.poller.mu.Lock() // no poller starts from here on
	c.cancel()
	c.poller.mu.Unlock()
	c.working.Wait()
}

// place returns the partition of a workflow ID.
func (c *Client) place(workflowID string) int { return entity.Place(c.group, workflowID) }

// post is deliver with the workflow ID in the error.
func (c *Client) post(ctx context.Context, m store.Message) error {
	if err := c.deliver(ctx, m); err != nil {
		return fmt.Errorf("workflow %q: %w", m.WorkflowID, err)
	}
	return nil
}

// deliver makes a message durable and wakes the owner of the partition if it is in this
// process.
func (c *Client) deliver(ctx context.Context, m store.Message) error {
	err := c.db.Post(ctx, m)
	if err == nil {
		c.local.Posted()
	}
	return err
}
