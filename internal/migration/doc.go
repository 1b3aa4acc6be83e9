// Package migration reads the scripts that bring the schema of an SQL store up to
// date. How a script runs, and where the version is kept, is the store's own.
package migration
