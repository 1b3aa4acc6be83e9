package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/store"
)

// How long a connection may be dead before that is noticed. Both sides watch it: the client
// so that its verbs return, the server so that the locks of a vanished client do not block
// others.
const (
	connectTimeout = 5 * time.Second
	probeAfter     = 10 * time.Second // of silence
	probeEvery     = 5 * time.Second
	probes         = 3
	userTimeout    = 20 * time.Second // how long sent data may stay unacknowledged
)

// oldest is the oldest supported server version.
const oldest = 140000

// defaults are the usual values of the planner settings that Tune changes.
var defaults = map[string]string{
	"enable_seqscan":   "on",
	"enable_hashjoin":  "on",
	"enable_mergejoin": "on",
	"plan_cache_mode":  "auto",
}

// Tune sets up a pool's configuration for perdure, where it has no other settings. URL
// does it by itself.
//
// The planner is told to find every row by an index, one by one, and to plan
// each statement once. A store's statements are few, and that is right for all
// that matter; but while tables are young, the planner takes them for tiny,
// chooses to read them whole, and would keep that plan while they grow to
// millions of rows. A step transaction (the hook of a turn) gets the usual
// settings back.
//
// Both sides notice dead connections within about half a minute.
func Tune(config *pgxpool.Config) {
	patient(config)
	for name, value := range map[string]string{
		"enable_seqscan":          "off",
		"enable_hashjoin":         "off",
		"enable_mergejoin":        "off",
		"plan_cache_mode":         "force_generic_plan",
		"jit":                     "off", // plans that cannot be avoided now look expensive enough for it
		"tcp_keepalives_idle":     seconds(probeAfter),
		"tcp_keepalives_interval": seconds(probeEvery),
		"tcp_keepalives_count":    strconv.Itoa(probes),
		"tcp_user_timeout":        strconv.FormatInt(userTimeout.Milliseconds(), 10),
	} {
		if _, given := config.ConnConfig.RuntimeParams[name]; !given {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
}

// TunePooled is Tune for connections through a pooler in transaction mode: it sets nothing in
// a session, and lets the driver prepare no statement.
func TunePooled(config *pgxpool.Config) {
	patient(config)
	if c := config.ConnConfig; c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement || !knowsTypes(config) {
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
}

// patient sets what needs no session: time limits, and that a connection must be writable,
// so that of several hosts the primary is chosen and a demoted server is left.
func patient(config *pgxpool.Config) {
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "perdure"
	}
	dialer := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probeAfter, Interval: probeEvery, Count: probes},
		Control:         limitUnacknowledged,
	}
	c.DialFunc = dialer.DialContext
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

// location describes where a database is, without credentials.
func location(c *pgx.ConnConfig, schema string) string {
	hosts := []string{address(c.Host, c.Port)}
	for _, f := range c.Fallbacks {
		if a := address(f.Host, f.Port); a != hosts[len(hosts)-1] { // the same host with and without TLS
			hosts = append(hosts, a)
		}
	}
	return fmt.Sprintf("%s/%s, schema %s", strings.Join(hosts, ","), c.Database, schema)
}

func address(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return fmt.Sprintf("%s:%d", host, port) // directory of a Unix socket
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// checkServer returns an error for an unsupported server.
func (h *handle) checkServer(ctx context.Context) error {
	return h.hold(ctx, "Open", func(c *conn) error {
		var version int
		var encoding string
		if _, err := c.one(ctx, `SELECT current_setting('server_version_num')::integer, current_setting('server_encoding'), current_setting('synchronous_commit') = 'off'`,
			nil, &version, &encoding, &h.lax); err != nil {
			return err
		}
		if version < oldest {
			return fmt.Errorf("%s: the server is version %d.%d; perdure needs PostgreSQL %d or later", h.info.Location, version/10000, version%10000, oldest/10000)
		}
		if encoding != "UTF8" {
			return fmt.Errorf("%s: the database is encoded in %s; perdure needs one that was created with ENCODING 'UTF8'", h.info.Location, encoding)
		}
		return nil
	})
}

// prepare checks that the server can be used, migrates the schema and reads what never
// changes.
func (h *handle) prepare(ctx context.Context, partitions int) error {
	if err := h.checkServer(ctx); err != nil {
		return err
	}
	id, err := h.upToDate(ctx, partitions)
	if err != nil {
		return err
	}
	if partitions > 0 && partitions != id.partitions {
		return fmt.Errorf("%s: the database was created with %d partitions and cannot have %d: leave postgres.Partitions out, or use another schema", h.info.Location, id.partitions, partitions)
	}
	h.info.Partitions = id.partitions
	h.partitions.Store(int64(id.partitions))
	h.info.Wards = bits.UintSize == 64 // see store.Place
	h.info.Closes = !id.distributed
	if h.distributed = id.distributed; h.distributed && !h.own {
		if err := h.checkDistributed(ctx); err != nil {
			return err
		}
	}
	return h.hold(ctx, "Open", func(c *conn) error {
		_, err := c.one(ctx, `SELECT `+fingerprint, nil, &h.mark)
		return err
	})
}

// upToDate identifies the schema and migrates it if needed. A user of an up-to-date schema
// needs no right to change it.
func (h *handle) upToDate(ctx context.Context, partitions int) (identity, error) {
	var id identity
	err := h.hold(ctx, "Open", func(c *conn) (err error) {
		if id, err = c.identify(ctx); err != nil || h.isDone(id) {
			return err
		}
		if err := c.checkCitus(ctx, id); err != nil {
			return err
		}
		outdated := &store.SchemaError{Location: h.info.Location, Version: id.version, Wanted: len(h.scripts)}
		if h.asIs {
			return outdated
		}
		err = again(createdMeanwhile, func() error {
			return c.transact(ctx, func(pgx.Tx) error { return c.migrate(ctx, cmp.Or(partitions, defaultPartitions)) })
		})
		if refusal, ok := errors.AsType[*driverError](err); ok && code(err) == insufficientRights {
			outdated.Err = refusal.err
			return outdated
		}
		if err == nil {
			id, err = c.identify(ctx)
		}
		return err
	})
	return id, err
}

// due returns the state of the schema compared with the one that this program uses.
func (h *handle) due(ctx context.Context, partitions int) (store.Schema, error) {
	schema := store.Schema{Location: h.info.Location, Wanted: len(h.scripts)}
	if err := h.checkServer(ctx); err != nil {
		return schema, err
	}
	err := h.hold(ctx, "Schema", func(c *conn) error {
		id, err := c.identify(ctx)
		schema.Version = id.version
		if err != nil || h.isDone(id) {
			return err
		}
		if err := c.checkCitus(ctx, id); err != nil {
			return err
		}
		schema.Due = h.steps(id, cmp.Or(partitions, defaultPartitions))
		return nil
	})
	return schema, err
}
