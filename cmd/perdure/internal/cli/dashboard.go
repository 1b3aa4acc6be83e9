package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/dashboard"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/telemetry"
	"github.com/spf13/cobra"
)

// defaultListen is the default address of the server.
const defaultListen = "127.0.0.1:7460"

// drainServer is how long requests in progress may take when the server stops.
const drainServer = 5 * time.Second

// serverFlags say who may use the server and from where.
type serverFlags struct {
	listen, tokens, cert, key string
	hosts                     []string
	readOnly                  bool
	logs, traces              string
}

func dashboardCommand(scr *screen, db *source) *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Serve the dashboard and the HTTP API of a database",
		Long: `Serve the dashboard and the HTTP API of a database, until interrupted: pages to look at
and operate workflows in a browser, the API under /api, its description at
/api/openapi.json, /healthz and /readyz for probes, and the metrics of the whole group for
Prometheus at /metrics. The server is a client of the database: it needs no engine and runs
no workflows.

Without --token-file everyone on this machine may do everything, as with this command: the
server then listens on a loopback address only. With it, each request needs a token. The file
has one token per line, as NAME ROLE SECRET: the name appears in the audit, the secret has at
least 20 bytes, and the role is one of

  viewer    reads
  operator  reads and changes
  starter   starts workflows, signals their runs and reads how they end
  worker    completes, fails and heartbeats external attempts

starter:checkout,refund is limited to those workflows, worker:gpu to that queue.

A server that other machines reach needs tokens, and --allow-host for each name by which
it is reached, unless it listens on one address. It should have a certificate, or stand
behind a proxy that has one: a token sent in clear text can be read on its way.`,
		Example: `  perdure dashboard
  perdure dashboard --read-only --db postgres://shop@db.example/shop
  perdure dashboard --listen :7460 --token-file tokens.txt --allow-host perdure.example.com
  perdure dashboard --listen :443 --token-file tokens.txt --allow-host perdure.example.com --tls-cert cert.pem --tls-key key.pem`,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(scr, db, cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultListen, "`address` to listen on; port 0 is any that is free")
	flags.StringVar(&f.tokens, "token-file", "", "`file` with tokens, one per line: NAME ROLE SECRET")
	flags.StringSliceVar(&f.hosts, "allow-host", nil, "a `name` by which the server is reached; several with commas")
	flags.BoolVar(&f.readOnly, "read-only", false, "refuse everything that changes something, from every caller")
	flags.StringVar(&f.cert, "tls-cert", "", "`file` with the certificate chain, in PEM")
	flags.StringVar(&f.key, "tls-key", "", "`file` with the key of the certificate, in PEM")
	flags.StringVar(&f.logs, "log-url", "", "`address` of the logs of a run, with {workflow_id}, {run_id} or {trace_id} in it")
	flags.StringVar(&f.traces, "trace-url", "", "`address` of the trace of a run, likewise")
	return cmd
}

// links are the options for links from the page of a run.
func (f *serverFlags) links() (options []dashboard.Option) {
	if f.logs != "" {
		options = append(options, dashboard.Logs(f.logs))
	}
	if f.traces != "" {
		options = append(options, dashboard.Traces(f.traces))
	}
	return options
}

// rules returns the access rules of the flags.
func rules(scr *screen, f serverFlags) (access.Rules, error) {
	rules := access.Rules{Hosts: f.hosts, ReadOnly: f.readOnly}
	if f.tokens == "" {
		rules.Anonymous = access.Identity{Name: whoAsks(scr, ""), Role: access.Operator}
	} else {
		file, err := os.Open(f.tokens)
		if err != nil {
			return rules, usage("Name a file that can be read; each line is NAME ROLE SECRET.", "The tokens cannot be read: %v.", err)
		}
		defer file.Close()
		if rules.Tokens, err = access.ReadTokens(file); err != nil {
			return rules, usage("Each line is NAME ROLE SECRET.", "The file %s cannot be used: %s", f.tokens, human.Sentence(withoutPackage(err)))
		}
	}
	rules, err := rules.ForListen(f.listen)
	if err != nil {
		return rules, usage("See: perdure dashboard --help (--listen, --token-file, --allow-host)", "%s", human.Sentence(withoutPackage(err)))
	}
	return rules, nil
}

// withoutPackage formats an error of package access for the shell.
func withoutPackage(err error) string { return strings.ReplaceAll(err.Error(), "access: ", "") }

// listening is what programs are told about the server.
type listening struct {
	URL      string `json:"url"`
	API      string `json:"api"`
	Database string `json:"database"`
	ReadOnly bool   `json:"read_only"`
	Tokens   int    `json:"tokens"`
}

// serve serves until ctx ends.
func serve(scr *screen, db *source, ctx context.Context, f serverFlags) error {
	rules, err := rules(scr, f)
	if err != nil {
		return err
	}
	secure, err := certificate(f)
	if err != nil {
		return err
	}
	return db.withEngine(ctx, func(e *perdure.Engine) error { return serveEngine(scr, ctx, e, f, rules, secure) })
}

// serveEngine serves an engine until ctx ends.
func serveEngine(scr *screen, ctx context.Context, e *perdure.Engine, f serverFlags, rules access.Rules, secure *tls.Config) error {
	handler, err := webHandler(e, rules, f.links()...)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return usage("Use another address with --listen; port 0 is any that is free.", "The server cannot listen: %v.", err)
	}
	scheme := "http"
	if secure != nil {
		l, scheme = tls.NewListener(l, secure), "https"
	}
	url := scheme + "://" + l.Addr().String() + "/"
	if err := tellListening(scr, listening{url, url + "api/openapi.json", e.Location(), f.readOnly, len(rules.Tokens)}); err != nil {
		_ = l.Close()
		return err
	}
	return serveUntil(ctx, l, handler, scr.env.Stderr)
}

// webHandler returns the handler of everything that the server serves.
func webHandler(e *perdure.Engine, rules access.Rules, links ...dashboard.Option) (http.Handler, error) {
	served, err := api.Handler(e, rules, api.Metrics(telemetry.New().Handler(e)))
	if err != nil {
		return nil, err
	}
	pages, err := dashboard.Handler(e, rules, links...)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, at := range []string{"/api/", "/healthz", "/readyz", "/metrics"} {
		mux.Handle(at, served)
	}
	mux.Handle("/", pages)
	return mux, nil
}

// certificate returns the TLS configuration of the flags, nil for none.
func certificate(f serverFlags) (*tls.Config, error) {
	switch {
	case f.cert == "" && f.key == "":
		return nil, nil
	case f.cert == "" || f.key == "":
		return nil, usage("Name both with --tls-cert and --tls-key.", "A certificate needs its key, and one of them is missing.")
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, usage("Name a certificate and its key, both in PEM, with --tls-cert and --tls-key.", "The certificate cannot be used: %v.", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}

func tellListening(scr *screen, l listening) error {
	err := scr.show(l, func() {
		who := "everyone on this machine may do everything"
		switch {
		case l.Tokens > 0 && l.ReadOnly:
			who = "read only, with " + human.Plural(l.Tokens, "token", "tokens")
		case l.Tokens > 0:
			who = "with " + human.Plural(l.Tokens, "token", "tokens")
		case l.ReadOnly:
			who = "everyone on this machine may read"
		}
		scr.printf("Serving %s at %s (%s). Interrupt to stop.\n", l.Database, l.URL, who)
		scr.printf("The API is described at %s\n", l.API)
	})
	return errors.Join(err, scr.out.Flush())
}

// serveUntil serves on a listener until ctx ends, and lets requests in progress finish.
func serveUntil(ctx context.Context, l net.Listener, handler http.Handler, complaints io.Writer) error {
	streams, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ReadTimeout: 30 * time.Second, // of what does not reach the guard, such as a redirect of the mux; the guard has shorter ones
		ErrorLog:    log.New(complaints, "perdure: ", 0),
		BaseContext: func(net.Listener) context.Context { return streams },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("the server has stopped: %w", err)
	case <-ctx.Done():
	}
	stop() // ends the requests of callers that wait or stream, which would not end by themselves
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainServer)
	defer cancel()
	if err := server.Shutdown(limited); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}
