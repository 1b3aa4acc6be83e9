// Package pgtest starts a throw-away PostgreSQL server for tests, and for benchmarks.
//
//	dsn := pgtest.Database(t)            // a fresh database on the server of this test binary
//	server := pgtest.Start(t)            // a server of the test's own, which it may crash
//	server := pgtest.Start(t, pgtest.Durable())
//
// The server listens on a Unix socket only, keeps its files in a temporary
// directory, and is gone when the test process is, however that ends: the kernel
// tells the server, and a shell that waits for it removes the files.
//
// PostgreSQL refuses to run as root. There the server runs as the user postgres,
// who comes with the distribution's packages.
//
// $PERDURE_POSTGRES names the directory of another version's programs.
//
// A test that needs the server fails where it cannot be started, with a text
// that says what to install. It does not skip: a suite that passes without
// having run proves nothing. Only a test of Citus does, which Debian does not have: the
// check says that it did not run.
package pgtest
