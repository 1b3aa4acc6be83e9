// Package around calls the interceptors of an engine, and holds them to what package
// intercept asks of them.
package around
