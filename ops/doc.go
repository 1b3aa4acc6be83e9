// Package ops operates durable workflows: it is what people and tools do to runs that are
// stuck, to gates, schedules and nodes, and how they ask the ledgers of all runs.
//
//	calls := view.CallFilter{Name: "charge", States: []string{view.CallPaused}}
//	result, err := ops.ControlAll(ctx, eng, view.Filter{Workflow: "checkout"}, calls,
//		ops.RetryNow(), ops.By("ann"), ops.Why("the bank is back"))
//
// An engine that is only opened, not started, can do all of it: a request is a row in the
// database, and the node that owns the run carries it out. Requests are on record with who
// made them and why; see [By] and [Why]. A [RequestID] makes asking twice asking once, and
// [DryRun] only selects.
//
//   - Calls of runs: [Control], [ControlAll] with [RetryNow], [Skip], [FailNow], [Pause],
//     [Resume], [EditPolicy] and [ChangePolicy].
//   - Runs: [ControlRun], [ControlRuns] with [CancelRun], [TerminateRun], [SignalRun],
//     [PauseRun], [ResumeRun], [ResetRun] and [MoveRun]; [Cancel], [Terminate], [Fork].
//   - Activities of a whole group: [PauseActivity], [ResumeActivity], [Switches].
//   - Gates and schedules: [Gates], [PauseGate], [Schedules], [TriggerSchedule] and others.
//   - The database: [Status], the overview to begin with; [Nodes], [Counts], [Sweep].
//   - Other code for runs that are open, before it serves them: [CheckCode].
//   - The ledgers of all runs: [FindAttempts], [FindCalls], [ActivityStats], [ErrorStats], and
//     [TryPolicy], another policy tried on them.
//
// What is shown are structs of package view, whose JSON is stable.
package ops
