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
// Start makes an engine a worker, in as many processes as the database allows. An engine
// that is opened and not started is a client: it starts runs, sends signals, waits for
// results and reads, while the workers do the work. OpenURL opens a database by a name or
// URL, such as one from the environment.
//
// Run and Handle.Result return the result of the workflow, or a *RunError around the
// error of its code. Errors travel as data. For an error registered with package retry
// (retry.RegisterError, retry.RegisterErrorType) errors.Is and errors.As hold in workflow
// code and at the caller. Any other error keeps its text, its type name and its causes.
//
// # The packages
//
//   - retry: policies and their decision, and retry.Do for plain function calls.
//   - activity, workflow: declare activities and workflows, and the functions that
//     workflow code calls. Signals, queries and updates are declared in package workflow
//     and sent from anywhere.
//   - gate, schedule: limit how many calls run at a time, and start workflows at given
//     times.
//   - perduretest: tests in virtual time, with mocks, failures and crashes.
//   - ops, view: operate runs, gates and schedules, and the structs that describe them.
//   - api, dashboard, access: the same over HTTP, with authentication.
//   - telemetry, intercept: metrics, tracing, and interceptors around operations.
//   - flow: workflows as text files.
//   - store/sqlite, store/postgres, store/memory: the databases; codec encrypts their
//     contents.
package perdure
