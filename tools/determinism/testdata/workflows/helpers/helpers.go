// Package helpers is called by workflow code.
package helpers

import (
	"fmt"
	"time"
)

var count int // want count:"mutable"

// Limit is assigned by SetLimit.
var Limit = 3 // want Limit:"mutable"

// Names is never assigned.
var Names = []string{"a", "b"}

// SetLimit changes Limit.
func SetLimit(n int) { Limit = n } // want SetLimit:"assigns the package variable Limit"

// Stamp reads the clock two calls down.
func Stamp(s string) string { return s + stamp() } // want Stamp:"calls helpers.stamp, which reads"

func stamp() string { return time.Now().String() } // want stamp:"reads the machine's clock"

// Even and odd call each other.
func Even(n int) bool { return n == 0 || odd(n-1) }

func odd(n int) bool { return n != 0 && Even(n-1) }

// Count counts.
func Count() int { // want Count:"assigns the package variable count"
	count++
	return count
}

// Pure may be called.
func Pure(n int) string { return fmt.Sprint(n) }

// Clock is a method that reads the clock.
type Clock struct{}

// Read does.
func (Clock) Read() time.Time { return time.Now() } // want Read:"reads the machine's clock"

// Excused says why it may.
func Excused() time.Time {
	//perdure:deterministic the caller drops what it returns
	return time.Now()
}
