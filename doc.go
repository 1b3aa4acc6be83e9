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
// The packages, from inside to outside: retry is the policy and its decision,
// activity and workflow declare code, schedule says when to start it again and
// again, this package is the engine, store and its children are the databases.
package perdure
