// Package perdure is durable execution for Go in which retries tell the truth.
//
// A workflow is a Go function that survives the death of its process; its steps
// are activities, ordinary functions that may fail. The engine runs them, retries
// what fails by a policy that is plain data, and keeps a record of every attempt.
// On one machine everything is in one SQLite file.
//
//	var Greet = activity.New("greet", func(ctx context.Context, name string) (string, error) {
//		return "hello " + name, nil
//	})
//
//	var Hello = workflow.New("hello", func(wf *workflow.Context, name string) (string, error) {
//		return workflow.Call(wf, Greet, name)
//	})
//
//	eng, err := perdure.Open(ctx, sqlite.File("hello.db"), perdure.Register(Hello, Greet))
//	err = eng.Start(ctx)
//	text, err := perdure.Run(ctx, eng, Hello, "hello-1", "world")
//
// Start makes an engine a worker, in as many processes as the database allows. An
// engine that is opened and not started is a client: it starts runs, sends signals, waits
// for results and reads, and the workers do the work. OpenURL opens a database by its
// name in the environment.
//
// Run and Handle.Result return the result of the workflow, or a *RunError around the
// error of its code. Errors travel as data: those that package retry has registered
// (retry.RegisterError, retry.RegisterErrorType) are themselves again for errors.Is and
// errors.As, in workflow code and at the caller; of others the text, the type name and the
// causes are left.
//
// # The packages
//
//   - retry: policies and their decision, and retry.Do for plain function calls.
//   - activity, workflow: what code is declared with, and what workflow code calls.
//     Signals, queries and updates are declared in workflow and sent from anywhere.
//   - gate, schedule: who may run at a time, and when a workflow starts by itself.
//   - perduretest: tests in virtual time, with mocks, failures and crashes.
//   - ops, view: what operators do to runs, gates and schedules, and what they see.
//   - api, dashboard, access: the same over HTTP, and who may.
//   - telemetry, intercept: metrics, tracing, and functions around what happens.
//   - flow: workflows as text files.
//   - store/sqlite, store/postgres, store/memory: the databases; codec encrypts what is
//     in them.
package perdure
