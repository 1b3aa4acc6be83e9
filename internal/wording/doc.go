// Package wording describes the states of runs, gates, schedules and policy trials in
// words, and lists what runs can be found by. The command, the dashboard and the API use
// the same words; durations, times and counts are formatted by package human. The results
// may contain texts of users and are not escaped.
package wording
