package activity

import "github.com/perdure/perdure/internal/seal"

// Queue makes attempts run only in processes that serve the queue (perdure.ServeQueue).
// These processes need neither the code of the workflow nor a share of its runs. Gates,
// policy, timeouts, heartbeats and cancellation work as without a queue; the owner of the
// run decides. QueueTimeout of the policy bounds how long an attempt waits to be claimed.
// The empty name means no queue: the attempt runs where its run is.
//
// A call keeps the queue with which it was made. Attempts of a queue cannot use OnCommit,
// and steps cannot have a queue.
func Queue(name string) Option { return seal.With(func(o *seal.ActivityOptions) { o.Queue = name }) }
