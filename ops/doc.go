// Package ops inspects and operates durable workflows: it repairs runs that are stuck,
// controls gates and schedules, and searches the ledgers of all runs.
//
//	calls := view.CallFilter{Name: "charge", States: []string{view.CallPaused}}
//	result, err := ops.ControlAll(ctx, eng, view.Filter{Workflow: "checkout"}, calls,
//		ops.RetryNow(), ops.By("ann"), ops.Why("the bank is back"))
//
// An engine that is opened and not started is enough: a request is a row in the database,
// and the node that owns the run carries it out. Requests are recorded with who made them
// and why; see [By] and [Why]. [RequestID] makes a repeated request harmless, and
// [DryRun] only selects.
//
//   - Calls of runs: [Control], [ControlAll] with [RetryNow], [Skip], [FailNow], [Pause],
//     [Resume], [EditPolicy] and [ChangePolicy].
//   - Runs: [ControlRun], [ControlRuns] with [CancelRun], [TerminateRun], [SignalRun],
//     [PauseRun], [ResumeRun], [ResetRun] and [MoveRun]; [Cancel], [Terminate], [Fork].
//   - Activities of a whole group: [PauseActivity], [ResumeActivity], [Switches].
//   - Gates and schedules: [Gates], [PauseGate], [Schedules], [TriggerSchedule] and others.
//   - The database: [Status], the overview to begin with; [Nodes], [Counts], Doctor,
//     [Sweep].
//   - Workflows by name, and how their runs go: [WorkflowStats].
//   - New code before it serves open runs: [CheckCode].
//   - Ledgers: [FindAttempts], [FindCalls], [ActivityStats], [HourStats], [ErrorStats], [TryPolicy].
//
// Results are structs of package view, whose JSON is stable.
package ops
