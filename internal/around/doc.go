// Package around calls the interceptors of an engine and enforces the rules of package
// intercept.
package around
