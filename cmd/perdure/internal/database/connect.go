package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/store/postgres"
)

// Reach returns an *Error if no connection can be made to the database.
func (n Name) Reach(ctx context.Context) error {
	if !n.Shared() {
		return nil
	}
	conn, err := n.connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Run runs statements in one transaction on a PostgreSQL server.
func (n Name) Run(ctx context.Context, statements string) error {
	conn, err := n.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, statements); err != nil { // several without parameters are one transaction
		return n.explain(conn.Config(), err)
	}
	return nil
}

// connect makes a connection as the store does.
func (n Name) connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgxpool.ParseConfig(n.url.DSN(true))
	if err != nil {
		return nil, err
	}
	if n.url.Pooled {
		postgres.TunePooled(config)
	} else {
		postgres.Tune(config)
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, n.explain(config.ConnConfig, err)
	}
	return conn, nil
}

// explain turns an error of the driver into one with a hint.
func (n Name) explain(c *pgx.ConnConfig, err error) error {
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
		return n.refused(c, refusal)
	}
	if errors.Is(err, pgconn.ErrReadOnlyConnection) || errors.Is(err, pgconn.ErrStandbyConnection) {
		why := "those that answer are standbys, which only read"
		if down := unreachable(err); down != "" {
			why += "; of another one: " + down
		}
		return &Error{
			fmt.Sprintf("No PostgreSQL server at %s takes writes: %s.", servers(c), why),
			"Start the primary, or promote a standby, and name its host in the URL. To only read, ask a standby, with target_session_attrs=any in the parameters of the URL.",
		}
	}
	if why := unreachable(err); why != "" {
		return &Error{
			fmt.Sprintf("No PostgreSQL server answers at %s: %s.", servers(c), why),
			fmt.Sprintf("Check the host, the port, and that the server runs and admits this machine:\npg_isready -h %s -p %d", human.ShellWord(c.Host), c.Port),
		}
	}
	text := err.Error()
	if i := strings.LastIndex(text, "): "); i >= 0 { // after who was asked for what, for each way it was tried
		text = text[i+len("): "):]
	}
	return &Error{fmt.Sprintf("The PostgreSQL database %s cannot be used: %s.", n, strings.TrimSuffix(text, ".")), ""}
}

// refused explains what the server said. Codes are in appendix A of PostgreSQL's
// manual.
func (n Name) refused(c *pgx.ConnConfig, e *pgconn.PgError) error {
	at := servers(c)
	switch {
	case strings.HasPrefix(e.Code, "28"): // invalid authorization
		return &Error{
			fmt.Sprintf("The PostgreSQL server at %s refuses the connection: %s.", at, e.Message),
			"The user is before the @ of the URL. Keep the password in PGPASSWORD or ~/.pgpass.",
		}
	case e.Code == "3D000": // no such database
		return &Error{
			fmt.Sprintf("There is no database %q on the PostgreSQL server at %s.", c.Database, at),
			fmt.Sprintf("The database is after the last slash of the URL. To create it: createdb -h %s -p %d -U %s %s",
				human.ShellWord(c.Host), c.Port, human.ShellWord(c.User), human.ShellWord(c.Database)),
		}
	case e.Code == "08P01": // a pooler refuses a setting
		hint := "If a pooler in transaction mode is in between, add pooled=true to the parameters of the URL: .../DATABASE?pooled=true"
		if n.url.Pooled {
			hint = "The pooler refuses a setting of the URL. Leave it out, or name it in the pooler's ignore_startup_parameters."
		}
		return &Error{fmt.Sprintf("The server at %s refuses the connection: %s.", at, e.Message), hint}
	case e.Code == "42501": // insufficient privilege
		return n.unreadable(c)
	}
	return &Error{fmt.Sprintf("The PostgreSQL server at %s reports: %s (SQLSTATE %s).", at, e.Message, e.Code), ""}
}

// unreadable says that the user lacks a right.
func (n Name) unreadable(c *pgx.ConnConfig) error {
	user, schema := pgx.Identifier{c.User}.Sanitize(), n.url.Tables()
	return &Error{
		fmt.Sprintf("The user %q may not read the schema %q of the database %s at %s.", c.User, schema, c.Database, servers(c)),
		fmt.Sprintf("Use the engine's user, or let that user run:\nGRANT USAGE ON SCHEMA %s TO %s; GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %s", schema, user, schema, user),
	}
}

// servers are the hosts that a connection can be made to.
func servers(c *pgx.ConnConfig) string {
	hosts := []string{server(c.Host, c.Port)}
	for _, f := range c.Fallbacks {
		if s := server(f.Host, f.Port); !slices.Contains(hosts, s) { // with TLS and without is the same host
			hosts = append(hosts, s)
		}
	}
	return strings.Join(hosts, ", ")
}

func server(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return fmt.Sprintf("%s/.s.PGSQL.%d", host, port)
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// unreachable is why no connection was made, in a few words; empty if one was.
func unreachable(err error) string {
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		if unknown.IsNotFound {
			return fmt.Sprintf("there is no host %q", unknown.Name)
		}
		return fmt.Sprintf("the host %q cannot be looked up", unknown.Name)
	}
	failure, ok := errors.AsType[*net.OpError](err)
	switch {
	case !ok:
		return ""
	case failure.Timeout():
		return "it took too long"
	}
	if code, ok := errors.AsType[syscall.Errno](failure); ok {
		return code.Error()
	}
	return failure.Err.Error()
}
