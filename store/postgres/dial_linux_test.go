package postgres

import (
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// TestDeadConnectionsAreNoticed looks at what the kernel was told, as nobody
// wants to wait for it.
func TestDeadConnectionsAreNoticed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	config, err := pgxpool.ParseConfig("postgres://" + l.Addr().String() + "/x")
	if err != nil {
		t.Fatal(err)
	}
	Tune(config)
	if config.ConnConfig.ConnectTimeout != connectTimeout {
		t.Errorf("connecting may take %s", config.ConnConfig.ConnectTimeout)
	}
	conn, err := config.ConnConfig.DialFunc(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range []struct {
		name               string
		level, which, want int
	}{
		{"keepalive", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
		{"idle", syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 10},
		{"interval", syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 5},
		{"probes", syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 3},
		{"user timeout", syscall.IPPROTO_TCP, 18, 20_000},
	} {
		var got int
		failed := raw.Control(func(fd uintptr) { got, err = syscall.GetsockoptInt(int(fd), option.level, option.which) })
		if failed != nil || err != nil || got != option.want {
			t.Errorf("%s is %d, not %d (%v, %v)", option.name, got, option.want, failed, err)
		}
	}
}
