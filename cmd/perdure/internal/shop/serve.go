package shop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ServeOptions say where a service runs.
type ServeOptions struct {
	Addr      string // to listen on; empty is a free port of 127.0.0.1
	BookFile  string // where the book is kept; empty is in memory
	Behaviour Behaviour

	// Ready, if not nil, is called once with the address of the service, such as
	// "http://127.0.0.1:40123", when it accepts requests.
	Ready func(url string)
}

// Serve runs a service until the context is done, and returns nil then. Requests
// that are waited for are cut off. An error says why it could not run.
func Serve(ctx context.Context, opt ServeOptions) (err error) {
	book, err := OpenBook(opt.BookFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	service, err := NewService(book, opt.Behaviour)
	if err != nil {
		return err
	}
	addr := opt.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("The service cannot listen on %s: %w", addr, err)
	}

	server := &http.Server{
		Handler:           service,
		ReadHeaderTimeout: 10 * time.Second,
		// Handlers see the end of ctx, so that those that hang stop.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	if opt.Ready != nil {
		opt.Ready("http://" + listener.Addr().String())
	}

	select {
	case err := <-stopped:
		return fmt.Errorf("The service stopped: %w", err)
	case <-ctx.Done():
	}
	// What is at work writes its book entry and answers; then it is over.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close()
	}
	<-stopped
	return nil
}
