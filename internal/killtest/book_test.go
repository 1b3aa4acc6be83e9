package killtest

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// entry is a line of the book: what a body says of itself.
type entry struct {
	Phase    string `json:"phase"`   // begin, done or failed
	Key      string `json:"key"`     // idempotency key: the same for all attempts of a call
	Attempt  string `json:"attempt"` // attempt ID
	Number   int    `json:"number"`
	Workflow string `json:"workflow"` // workflow ID
	Step     string `json:"step"`
	Order    int    `json:"order"` // steps of a run with a lower one are over
	Tag      string `json:"tag"`   // what the call was handed
	Life     int    `json:"life"`  // of the worker
	Fails    int    `json:"fails"` // how often the step is to fail
}

// answer says whether the body is to fail.
type answer struct {
	Fail bool `json:"fail"`
}

// book is kept by the parent, which nobody kills. An entry is on disk before the
// body is answered.
type book struct {
	listener net.Listener

	mu      sync.Mutex
	file    *os.File
	entries []entry
	told    map[string]int // failures asked for, by workflow ID and step
	fault   error
}

// openBook opens an empty book and begins to listen.
func openBook(t *testing.T, dir string) *book {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "book.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &book{listener: listener, file: file, told: map[string]int{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { b.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
		file.Close()
		if b.fault != nil {
			t.Errorf("the book: %v", b.fault)
		}
	})
	return b
}

// serve answers one worker until it is dead.
func (b *book) serve(conn net.Conn) {
	defer conn.Close()
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	for {
		var e entry
		if in.Decode(&e) != nil {
			return // killed, perhaps in the middle of a line
		}
		a, err := b.enter(e)
		if err != nil {
			b.mu.Lock()
			b.fault = errors.Join(b.fault, err)
			b.mu.Unlock()
			return
		}
		if out.Encode(a) != nil {
			return
		}
	}
}

// enter writes an entry down.
func (b *book) enter(e entry) (answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var a answer
	if e.Phase == "begin" {
		step := e.Workflow + " " + e.Step
		if a.Fail = b.told[step] < e.Fails; a.Fail {
			b.told[step]++
		}
	}
	line, err := json.Marshal(e)
	if err != nil {
		return a, err
	}
	if _, err := b.file.Write(append(line, '\n')); err != nil {
		return a, err
	}
	if err := b.file.Sync(); err != nil {
		return a, err
	}
	b.entries = append(b.entries, e)
	return a, nil
}

// length is the number of entries so far.
func (b *book) length() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

// all returns the entries so far.
func (b *book) all() []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.entries)
}

// pen is a worker's connection to the book.
type pen struct {
	life int

	mu  sync.Mutex
	in  *json.Decoder
	out *json.Encoder
}

func newPen(address string, life int) (*pen, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &pen{life: life, in: json.NewDecoder(conn), out: json.NewEncoder(conn)}, nil
}

// write returns when the entry is on disk.
func (p *pen) write(e entry) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.Life = p.life
	var a answer
	err := p.out.Encode(e)
	if err == nil {
		err = p.in.Decode(&a)
	}
	if err != nil {
		// The parent is gone, and this process is about to be, too.
		io.WriteString(os.Stderr, "the book cannot be reached: "+err.Error()+"\n")
		os.Exit(3)
	}
	return a
}
