package witness

import (
	"context"
	"io"
	"net/rpc"
	"os"
)

// Pen is a worker's connection to the book.
type Pen struct {
	process string
	book    *rpc.Client
}

// NewPen connects a process to the book at an address.
func NewPen(address, process string) (*Pen, error) {
	book, err := rpc.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Pen{process: process, book: book}, nil
}

// Write returns when the entry is in the book and answered. It gives up when ctx
// ends; the entry is then there, or will be.
func (p *Pen) Write(ctx context.Context, e Entry) (Answer, error) {
	e.Process = p.process
	var a Answer
	call := p.book.Go("Book.Enter", e, &a, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	if call.Error != nil {
		p.lost(call.Error)
	}
	return a, nil
}

// lost ends the process: the parent is gone, and this process is about to be, too.
func (p *Pen) lost(err error) {
	io.WriteString(os.Stderr, "the book cannot be reached: "+err.Error()+"\n")
	os.Exit(3)
}

// must is Write for bodies that do not look at their context.
func (p *Pen) must(e Entry) Answer {
	a, _ := p.Write(context.Background(), e)
	return a
}
