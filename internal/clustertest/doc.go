// Package clustertest runs nodes, as real processes, on a real PostgreSQL and
// hurts them: it kills them with kill -9, stops and continues them, cuts them off
// from the database, crashes the database, loses its answers, and lets nodes
// leave in good order while there is work. It hurts the database: a standby takes
// over, statements and commits are refused, the disk is full, others have every
// connection, the clock jumps, the schema changes, an older backup is restored. It
// holds tests only.
//
// The test process is the parent. It owns the server (package pgtest), the book of
// effects (package witness), and proxies that nodes reach the server through (package torture). It
// is a client of the database, too, which never becomes a worker. A node is the
// same test binary, started again (package torture), under the race detector if the test is; the
// parent tells it what to do by calls over its standard input and output.
//
// Some tests let things happen at random moments under load; their verdict is that
// of package witness, and that nothing is orphaned. Others stage one moment
// exactly: a proxy understands so much of PostgreSQL's protocol that it can hold
// the one statement back that the test is about, while the node that sent it is
// stopped and another takes its work over.
//
//	go test -race ./internal/clustertest              what CI runs
//	go test -race ./internal/clustertest -times 20    twenty times as much of what is random
//	go test -race ./internal/clustertest -seed 17     the moments of an earlier run
//
// Two tests need what not everybody has, and are skipped without it: PgBouncer
// (Debian's package, or $PERDURE_PGBOUNCER), and a server that somebody else runs, such
// as one with a failover manager:
//
//	PERDURE_TEST_URL='postgres://postgres@a,b,c/test?target_session_attrs=read-write' \
//	PERDURE_TEST_TROUBLE='./kill-the-primary.sh' \
//	go test ./internal/clustertest -run AnyServer -times 5
//
//	go test ./internal/clustertest -run TestE132 -kills 200 -timeout 1h
//
// kills two hundred processes, of nodes, workers and servers.
//
// A seed fixes when the parent acts and what it starts; what the nodes happen to do
// at that moment is up to the machine.
package clustertest
