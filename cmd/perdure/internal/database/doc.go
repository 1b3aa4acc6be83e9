// Package database knows what people call a database: the name of an SQLite file,
// or the URL of a database on a PostgreSQL server.
//
// [Parse] reads such a name, and [Name.Opener] is what the engine opens. A program
// that opens a database makes it if need be; somebody who only looks must not, or
// a misspelled name would become an empty database. So [Name.Find] asks first
// whether there is one, and says what to do if there is not.
//
// A URL may hold a password. No text of this package does, except that of
// [Name.Secret].
package database
