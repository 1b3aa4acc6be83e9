// Package database reads the names of databases: an SQLite file, or the URL of a
// database on a PostgreSQL server.
//
// [Parse] reads a name, and [Name.Opener] is what the engine opens. An engine creates its
// database if need be. A command that only inspects must not, or a misspelled name would
// become an empty database; so [Name.Find] looks first, and says what to do if there is
// none.
//
// A URL may hold a password. No text of this package does, except that of
// [Name.Secret].
package database
