// Package schedule describes when workflows start repeatedly, by a cron expression or an
// interval, and what happens if a start overlaps with an earlier run or was missed.
//
//	perdure.Schedule(ctx, eng, "nightly-report", Report, input, schedule.Spec{
//		Cron: "30 2 * * *", TimeZone: "Europe/Paris", Jitter: 5 * time.Minute,
//	})
//
// A [Spec] is plain data. It gives nominal times, which [Spec.Times] computes without an
// engine. At each nominal time the schedule fires: it starts the workflow ID
// "name/2026-11-22T01:30:00Z", with the nominal time in UTC, so each time is fired once.
//
// # Time zones
//
// A cron expression is about the wall clock of its time zone, UTC by default. Each time
// of that clock is at most one nominal time:
//
//   - When summer time ends, the clock shows an hour twice. The first one counts.
//   - When summer time begins, the clock skips an hour. A time in it is moved to the end
//     of the hour: "30 2 * * *" is fired at 3:00, once together with other times that
//     fall on that moment.
//
// So "0 * * * *" pauses for two hours once a year in such a zone. For a steady rhythm use
// UTC or an interval.
//
// The database of time zones is linked into the program for machines without one; the
// machine's own is preferred. If nodes disagree about a zone, the node that serves the
// schedule decides.
//
// # Intervals
//
// Every counts from 1970-01-01T00:00:00Z, plus Offset: an interval of an hour fires
// on the hour in UTC, whenever the schedule was made.
package schedule
