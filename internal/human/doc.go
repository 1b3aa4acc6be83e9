// Package human writes durations, times, counts and texts of others for people. The
// command and the dashboard say the same things in the same words.
package human
