// Package postgres starts a PostgreSQL server of the benchmark's own, durable as
// PostgreSQL comes (fsync, full page writes and synchronous commits are on), and
// reads what the server spends.
package postgres
