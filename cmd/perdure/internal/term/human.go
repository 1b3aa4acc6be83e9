package term

import (
	"time"

	"github.com/perdure/perdure/internal/human"
)

// The words of the command are those of the dashboard: see package human.

// Duration is human.Duration.
func Duration(d time.Duration) string { return human.Duration(d) }

// When is human.When.
func When(t, now time.Time) string { return human.When(t, now) }

// Until is human.Until.
func Until(t, now time.Time) string { return human.Until(t, now) }

// Time is human.Time.
func Time(t time.Time) string { return human.Time(t) }

// Count is human.Count.
func Count(n int) string { return human.Count(n) }

// Plural is human.Plural.
func Plural(n int, one, many string) string { return human.Plural(n, one, many) }

// Escape is human.Escape.
func Escape(s string) string { return human.Escape(s) }

// Clip is human.Clip.
func Clip(s string, limit int) string { return human.Clip(s, limit) }

// Lines is human.Lines.
func Lines(s string) []string { return human.Lines(s) }
