// Package migration reads the scripts that bring the schema of an SQL store up to
// date, and cuts them into statements. How a script runs, and where the version is kept, is the store's own.
package migration
