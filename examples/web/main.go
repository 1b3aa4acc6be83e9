package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/perdure/perdure"
	_ "github.com/perdure/perdure/store/postgres" // OpenURL opens postgres://...
	_ "github.com/perdure/perdure/store/sqlite"   // ... and files
)

func main() {
	addr := flag.String("addr", "localhost:8018", "the `address` to listen on")
	db := flag.String("db", "web.db", "the `database`: a file, or postgres://...")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *addr, *db); err != nil {
		log.Fatal(err)
	}
}

// serve runs workflows and the HTTP server until ctx ends, then lets both finish:
// first requests, which need the engine, then attempts that run. What is cut off
// after that is made again by the next process.
func serve(ctx context.Context, addr, db string) error {
	eng, err := perdure.OpenURL(ctx, db, perdure.Register(Expense, Pay))
	if err != nil {
		return err
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("listening on http://" + listener.Addr().String())
	web := &http.Server{Handler: server{eng}.routes(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 25*time.Second) // Kubernetes kills after 30 s
	defer cancel()
	return errors.Join(web.Shutdown(grace), eng.Stop(grace))
}
