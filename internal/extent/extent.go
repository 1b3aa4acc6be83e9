package extent

import (
	"os"
	"testing"
)

// Nightly reports whether the whole product is to be played.
func Nightly() bool { return os.Getenv("PERDURE_NIGHTLY") != "" }

// AtNight returns the second value at night and the first one otherwise.
func AtNight[T any](push, night T) T {
	if Nightly() {
		return night
	}
	return push
}

// Watched reports whether the race detector is on: what goroutines do then takes many times as long,
// and other turns.
func Watched() bool { return race }

// Volume is AtNight for how often something is repeated: under the race detector, which finds in
// fewer what it can find, by night as by day.
func Volume[T any](push, night T) T {
	if race {
		return push
	}
	return AtNight(push, night)
}

// NotInShort skips a test with -short, and says why the short form leaves it out.
func NotInShort(tb testing.TB, why string) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("-short leaves this out: " + why)
	}
}

// Missing skips a test because the machine lacks what it needs. Where CI is set it fails,
// so that nothing goes unproved there.
func Missing(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatal("CI must not leave this out. " + what)
	}
	tb.Skip(what)
}

// OnlyAtNight skips a test but at night, and says why.
func OnlyAtNight(tb testing.TB, why string) {
	tb.Helper()
	if !Nightly() {
		tb.Skip("This is played at night only (PERDURE_NIGHTLY=1): " + why)
	}
}

// Unwatched skips a test under the race detector, but at night, and says why: what it varies, and
// others do not, is nothing that goroutines share.
func Unwatched(tb testing.TB, why string) {
	tb.Helper()
	if race && !Nightly() {
		tb.Skip("The race detector does not watch this by day: " + why)
	}
}
