// Package retry decides whether a failed attempt is followed by another one,
// and when.
package retry
