package postgres

import (
	"strings"
	"syscall"
)

// limitUnacknowledged makes the kernel give a connection up whose data no one
// acknowledges. Probes do not help there: they are sent only when nothing else
// is.
func limitUnacknowledged(network, _ string, raw syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	const tcpUserTimeout = 18 // TCP_USER_TIMEOUT of linux/tcp.h, which package syscall lacks
	failed := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
	})
	if failed != nil {
		return failed
	}
	return err
}
