package witness

import (
	"errors"
	"net"
	"net/rpc"
	"slices"
	"sync"
	"time"
)

// Entry is a line of the book: what a body says of itself.
type Entry struct {
	Phase    string // begin, done, failed, or given up
	Key      string // idempotency key: the same for all attempts of a call
	Attempt  string // attempt ID
	Number   int
	Workflow string // workflow ID
	Step     string
	Order    int    // steps of a run with a lower one are over
	Tag      string // what the call was handed
	Process  string // who writes
	Fails    int    // how often the step is to fail
	Cause    string // why a body gave up
}

// Phases of an execution.
const (
	Begin   = "begin"
	Done    = "done"
	Failed  = "failed"
	GivenUp = "given up" // its context ended
)

// Answer says whether the body is to fail.
type Answer struct{ Fail bool }

// Book is kept by the parent process, which nobody hurts. An entry is there before
// the body is answered.
type Book struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu      sync.Mutex
	news    *sync.Cond // there is another entry, or a hold was released
	entries []Entry
	told    map[string]int // failures asked for, by workflow ID and step
	holds   []*Hold
	charged map[string]int // payments, by the keys of calls
	closed  bool

	latest time.Time // when the latest entry came
	still  Pause     // the longest one so far
}

// Pause is a time without a new entry.
type Pause struct {
	From time.Time
	For  time.Duration
}

// OpenBook opens an empty book, which listens until it is closed.
func OpenBook() (*Book, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &Book{listener: listener, told: map[string]int{}, charged: map[string]int{}, latest: time.Now()}
	b.news = sync.NewCond(&b.mu)
	server := rpc.NewServer()
	if err := server.RegisterName("Book", &desk{b}); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	b.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go server.ServeConn(conn) // until the process at its other end is gone
		}
	})
	return b, nil
}

// Close refuses all further entries.
func (b *Book) Close() error {
	err := b.listener.Close()
	b.serving.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.news.Broadcast()
	return err
}

// Address is where pens find the book.
func (b *Book) Address() string { return b.listener.Addr().String() }

// desk is what pens can ask of a book.
type desk struct{ book *Book }

// Enter returns when the entry is there and no one holds the body.
func (d *desk) Enter(e Entry, a *Answer) (err error) {
	*a, err = d.book.enter(e)
	return err
}

var errBookClosed = errors.New("the book is closed")

// enter writes an entry down.
func (b *Book) enter(e Entry) (Answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return Answer{}, errBookClosed
	}
	var a Answer
	if e.Phase == Begin {
		step := e.Workflow + " " + e.Step
		if a.Fail = b.told[step] < e.Fails; a.Fail {
			b.told[step]++
		}
	}
	if e.Phase == Charged {
		b.charged[e.Key]++
	}
	b.entries = append(b.entries, e)
	b.still = b.pause()
	b.latest = time.Now()
	b.news.Broadcast()
	for _, h := range b.holds {
		if !h.match(e) {
			continue
		}
		for !h.released && !b.closed {
			b.news.Wait()
		}
		a.Fail = a.Fail || h.fail
	}
	return a, nil
}

// pause is the longest one until now.
func (b *Book) pause() Pause {
	if now := time.Since(b.latest); now > b.still.For {
		return Pause{From: b.latest, For: now}
	}
	return b.still
}

// Longest is the longest pause so far, which may be the present one.
func (b *Book) Longest() Pause {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pause()
}

// Hold keeps bodies waiting for the answer to their entry.
type Hold struct {
	book     *Book
	match    func(Entry) bool
	released bool
	fail     bool
}

// Hold begins to hold those whose entry matches.
func (b *Book) Hold(match func(Entry) bool) *Hold {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := &Hold{book: b, match: match}
	b.holds = append(b.holds, h)
	return h
}

// Release lets held bodies continue and holds none after that.
func (h *Hold) Release() { h.end(false) }

// Fail is Release that tells those who are held, and all who would be, to fail.
func (h *Hold) Fail() { h.end(true) }

func (h *Hold) end(fail bool) {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	h.released, h.fail = true, fail
	h.book.news.Broadcast()
}

// Length is the number of entries so far.
func (b *Book) Length() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

// Entries returns the entries so far.
func (b *Book) Entries() []Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.entries)
}

// Count says how many entries match.
func (b *Book) Count(match func(Entry) bool) int {
	n := 0
	for _, e := range b.Entries() {
		if match(e) {
			n++
		}
	}
	return n
}
