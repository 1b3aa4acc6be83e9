// Package drivers has the floor on SQLite with each driver that came into
// question for perdure's store.
package drivers
