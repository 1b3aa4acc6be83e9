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

// ErrStopped says that the process is about to end and takes no requests.
var ErrStopped = errors.New("the engine is stopped; open a new one to go on")

// Config is what a Client is made of.
type Config struct {
	DB    Database
	Read  *inspect.Inspector
	Group store.Group
	// Lacks is why what has payloads is neither asked nor told, nil if it may be: the
	// program does not have the codecs of the database.
	Lacks error
	// Secret is that of the database; it signs tokens.
	Secret []byte
	// Node is the name of this process: it stands in the audit where a request does not
	// say who asks.
	Node string
	// Now returns engine time, in nanoseconds since 1970.
	Now func() int64
	// Runner runs what users do inside transactions.
	Runner *steptx.Runner
	// Local is the engine of this process, nil if it has none.
	Local Local
	// Around are the interceptors, nil for none.
	Around *around.Chain
	// Moves says that the database lets runs move among nodes.
	Moves bool
}

// Database is what a Client needs of a store.
type Database interface {
	store.Client
	store.Reader
}

// Local is the engine of this process. Its methods may be called from any goroutine.
type Local interface {
	// Create makes a run durable: together with its first turn if there is room for that,
	// for which it waits a little, or longer if the caller waits for the run's end. If this
	// process does not serve the partition it does nothing and returns false.
	Create(ctx context.Context, row *store.Run, start *history.Start, forEnd bool) (served bool, err error)
	// Serves reports whether this process serves the partition, and whether it has the
	// run in memory, which then has not ended. It calls Ended when a run of a partition
	// that it serves ends, and Moved when it begins or ceases to serve one.
	Serves(partition int, run string) (served, resident bool)
	// Posted says that there is a new message in some inbox.
	Posted()
	// Switched says that the log of switches of the group has a new entry.
	Switched(ctx context.Context)
	// Query asks the code of a run. If this process does not serve the run it returns
	// false. ErrMoved says that it ceased to serve it meanwhile: the query is asked again.
	Query(ctx context.Context, row *store.Run, name string, input history.Payload) (answer history.Payload, served bool, err error)
}

// ErrMoved says that a run is not where it was.
var ErrMoved = errors.New("the run went elsewhere")

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
	around *around.Chain
	moves  bool // runs may move among nodes

	fault error // why there can be no requests, nil if there can
	lacks error // why there can be none with payloads

	topics  topics
	waiters waiters
	poller  poller
	working sync.WaitGroup // the poller

	// ctx ends when the Client is closed.
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns a Client that works until it is closed.
func New(config Config) *Client {
	c := &Client{
		read: config.Read, group: config.Group, lacks: config.Lacks, secret: config.Secret, node: config.Node,
		now: config.Now, runner: config.Runner, local: config.Local, around: config.Around, moves: config.Moves,
		topics: topics{byName: map[string]*topic{}}, poller: newPoller(),
	}
	if c.local == nil {
		c.local = noEngine{}
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.db = insistent{config.DB, c.ctx.Done()}
	return c
}

// Refusing returns a Client all of whose verbs fail with an error.
func Refusing(err error) *Client {
	return &Client{fault: err, read: inspect.Refusing(err), now: func() int64 { return 0 }, local: noEngine{}}
}

// Close lets all verbs return with ErrStopped, those under way included. The database
// stays open.
func (c *Client) Close() {
	c.poller.mu.Lock() // no poller begins from here on
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

// deliver makes a message durable and wakes the owner of the partition, if that is here.
func (c *Client) deliver(ctx context.Context, m store.Message) error {
	err := c.db.Post(ctx, m)
	if err == nil {
		c.local.Posted()
	}
	return err
}
