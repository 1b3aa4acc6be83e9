// Package upgradetest checks that a database whose schema is migrated keeps the work that it
// holds. The versions of the schema are those of the test.
package upgradetest
