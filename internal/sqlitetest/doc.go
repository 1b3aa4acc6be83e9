// Package sqlitetest gives tests new SQLite files. Each is the copy of one in which the schema
// has been created: that takes half the time of creating it, and much less under the race
// detector. What happens when a file is created is tested in store/sqlite.
package sqlitetest
