// Package ident makes the identifiers that perdure hands out: run IDs, tokens of
// requests and numbers of commits. Each is random enough that no two processes
// make the same one.
package ident
