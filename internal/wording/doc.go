// Package wording says in words how runs, gates, schedules and trials of policies stand, and
// what runs are found by. The command, the dashboard and the API say the same things in the
// same words; durations, times and counts are those of package human. What it returns may have
// texts of others in it, and is not escaped.
package wording
