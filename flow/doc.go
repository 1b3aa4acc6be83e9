// Package flow runs flow files: workflows as text, with retry policies in brackets.
//
//	fn main(input: [day], output: [report]):
//	    rows = @warehouse.export(day=day) [NetworkError -> retry: 5, backoff: 2m] [timeout: 10m]
//	    try:
//	        report = @mail.send(rows=rows) [retry: 3, backoff: 60]
//	    except MailError as e:
//	        report = e.message
//
// The interpreter is an ordinary workflow, so flow files have the guarantees of
// workflows: completed actions never run again, waits between attempts survive the
// process, every attempt is recorded. A file calls activities with @: those that the
// program registers, and a few built-in ones. The text of the file is part of the run's
// input, with its hash: changing the file does not affect open runs.
//
//	flows, err := flow.New(flow.Actions(Charge, Refund))
//	eng, err := perdure.Open(ctx, db, perdure.Register(flows.Definitions()...))
//	file, err := flows.Load("order.flow", text) // reports every fault of the file
//	program, err := file.With(map[string]any{"order": 17})
//	result, err := perdure.Run(ctx, eng, flow.Workflow, "order-17", program)
//
// The language is in docs/flow.md.
package flow
