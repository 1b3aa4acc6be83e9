package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/extent"
)

// Patroni is three servers of which one is the primary and one its synchronous standby, as
// Patroni decides, which keeps what it knows in an etcd.
type Patroni struct {
	dir   string
	ports []int // of the servers
}

// StartPatroni starts them for the test, which is skipped but at night, and if the programs
// patroni and etcd are not in $PATH.
func StartPatroni(tb testing.TB) *Patroni {
	tb.Helper()
	extent.OnlyAtNight(tb, "a cluster of Patroni; at other times a server that a test promotes itself stands in for it")
	bin := needsServer(tb)
	var err error
	for _, program := range []string{"patroni", "etcd"} {
		if _, err := exec.LookPath(program); err != nil {
			extent.Missing(tb, "There is no "+program+": apt-get install patroni etcd-server.")
		}
	}
	p := &Patroni{}
	p.dir, err = place("")
	must(tb, err)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Log(lastWords(p.log()))
		}
	})
	dismiss, err := undertaker(p.dir) // Patroni's servers are not our children
	must(tb, err)
	tb.Cleanup(func() { _ = dismiss() })
	ports := freePorts(tb, 8)
	p.ports = ports[:3]
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[3]), fmt.Sprintf("http://127.0.0.1:%d", ports[4])
	p.launch(tb, "etcd", "--name", "e", "--data-dir", filepath.Join(p.dir, "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "e="+peer, "--unsafe-no-fsync")
	for i, port := range p.ports {
		config := filepath.Join(p.dir, fmt.Sprintf("patroni%d.yml", i))
		text := fmt.Sprintf(patroniConfig, i, ports[5+i], ports[3], port, p.data(i), bin, p.dir)
		must(tb, errors.Join(os.WriteFile(config, []byte(text), 0o644), give(config)))
		p.launch(tb, "patroni", config)
	}
	p.primary(tb)
	return p
}

// patroniConfig is for the member %[1]d. One that is gone for three seconds has lost; nothing
// that was acknowledged may be lost with it.
const patroniConfig = `scope: perdure
name: member%[1]d
restapi: {listen: "127.0.0.1:%[2]d", connect_address: "127.0.0.1:%[2]d"}
etcd3: {host: "127.0.0.1:%[3]d"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 1
    retry_timeout: 3
    maximum_lag_on_failover: 0
    primary_start_timeout: 0
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters: {max_connections: 100, shared_buffers: 16MB, wal_log_hints: "on", fsync: "off"}
  initdb: [{encoding: UTF8}, {locale: C}, no-sync]
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
postgresql:
  listen: 127.0.0.1:%[4]d
  connect_address: 127.0.0.1:%[4]d
  data_dir: %[5]s
  bin_dir: %[6]s
  pgpass: %[5]s.pgpass
  authentication:
    superuser: {username: postgres, password: x}
    replication: {username: replicator, password: x}
    rewind: {username: postgres, password: x}
  parameters: {unix_socket_directories: %[7]s}
watchdog: {mode: "off"}
`

func (p *Patroni) data(member int) string { return filepath.Join(p.dir, fmt.Sprint("data", member)) }
func (p *Patroni) log() string            { return filepath.Join(p.dir, "log") }

// DSN is how to connect to whichever server is the primary.
func (p *Patroni) DSN(database string) string {
	var hosts []string
	for _, port := range p.ports {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", port))
	}
	return fmt.Sprintf("postgres://postgres@%s/%s?target_session_attrs=read-write&sslmode=disable&connect_timeout=2", strings.Join(hosts, ","), database)
}

// KillPrimary ends the primary's server as kill -9 does, when it has a synchronous standby.
func (p *Patroni) KillPrimary(tb testing.TB) {
	tb.Helper()
	at := p.primary(tb)
	text, err := os.ReadFile(filepath.Join(p.data(at), "postmaster.pid"))
	must(tb, err)
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	must(tb, err)
	server, err := os.FindProcess(pid)
	must(tb, err)
	must(tb, server.Kill())
}

// primary waits until one of the servers is the primary and has a synchronous standby.
func (p *Patroni) primary(tb testing.TB) (member int) {
	tb.Helper()
	var last error
	for end := time.Now().Add(2 * patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		for i, port := range p.ports {
			leads, err := leads(tb.Context(), port)
			if leads {
				return i
			}
			last = err
		}
	}
	tb.Fatalf("no server is a primary with a synchronous standby: %v", last)
	return 0
}

func leads(ctx context.Context, port int) (is bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port))
	if err != nil {
		return false, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = conn.QueryRow(ctx, `SELECT NOT pg_is_in_recovery() AND EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')`).Scan(&is)
	return is, err
}

// launch starts a program that ends with the test.
func (p *Patroni) launch(tb testing.TB, program string, args ...string) {
	tb.Helper()
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(tb, err)
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, p.dir
	cmd.Env = append(os.Environ(), "HOME="+p.dir, "LC_ALL=C.UTF-8")
	ended, err := launch(cmd)
	must(tb, err)
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
}

// freePorts are ports that are free now.
func freePorts(tb testing.TB, n int) (ports []int) {
	tb.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(tb, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
