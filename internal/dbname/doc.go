// Package dbname reads what people call a database: the name of an SQLite file, or the
// URL or the keywords of a database on a PostgreSQL server. It opens nothing and knows no
// driver, so that store.Named and the command line read names in one way.
//
// A name may hold a password. No text of this package does, unless its caller asks for it.
package dbname
