// Package postgres keeps a perdure database in PostgreSQL.
package postgres
