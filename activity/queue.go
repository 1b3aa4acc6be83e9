package activity

import "github.com/perdure/perdure/internal/body"

// Queue lets attempts run only in processes that serve the queue (perdure.ServeQueue),
// which need neither the code of the workflow nor a share of its runs. Gates, policy,
// timeouts, heartbeats and cancellation are as without a queue; the owner of the run
// decides. QueueTimeout of the policy bounds how long an attempt waits to be claimed. The
// empty name is no queue: the attempt runs where its run is.
//
// A call keeps the queue with which it was made. OnCommit is refused there, and steps have
// no queue.
func Queue(name string) Option { return body.Set(func(o *body.Options) { o.Queue = name }) }
