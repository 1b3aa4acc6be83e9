// Package retry decides whether a failed attempt is followed by another one,
// and when. The same [Policy] drives a plain function call ([Do]), an activity
// of the durable engine, a whole block of a workflow and a bracket in a flow
// file; all of them ask the same function, [Decide], and so give the same
// schedule to the nanosecond.
//
//	err := retry.Do(ctx, retry.Policy{}, func(ctx context.Context) error {
//		return client.Charge(ctx, order)
//	})
//
// # Words
//
// An attempt is one execution. MaxAttempts counts executions, the first
// included; a retry is any execution after the first. A delay is the wait
// between the end of an attempt and the start of the next one.
//
// # Policies
//
// A Policy is plain data. Its zero value is a good default: five attempts, one
// second before the second one, twice as long before each further one, at most
// a minute, spread by a tenth to either side. Each field is documented with what
// its zero value means. There are presets: [Never], [Standard], [Aggressive],
// [Conservative], [Infinite], [Quick].
//
// Policies are written in Go, in JSON ([Policy.UnmarshalJSON]) or as text
// ([Parse], [Policy.String]), such as
//
//	[retry: 4, backoff: 1s, max: 1m] [CardDeclined -> stop] [timeout: 30s]
//
// and [Policy.Validate] lists all that is wrong with one. What a policy
// cannot mean is refused rather than ignored. [Explain] says what a policy
// amounts to: when attempts start, what is retried, and what may be a mistake.
//
// # Errors
//
// A policy names errors by type name ([TypeName]): the result of a method
// ErrorType() string, a name given by [RegisterError] or [RegisterErrorType], or
// the Go type. Everything that an error wraps counts, so a policy written for
// an error also holds for errors made of it.
//
// A body controls its own retries by the error it returns: [Terminal] marks an error that
// no further attempt can change, [After] sets the delay before the next attempt.
// [AfterHTTP], package httpretry and package grpcretry read these from the responses of
// servers.
//
// The caller gets nil; the error itself if it was terminal; an [*ExhaustedError], whose
// Reason says why no further attempt was made and whose Records describe the attempts; an
// [*AbortedError] if the call was canceled, which is not a failure and never retried; or
// a [*ConfigError] if the call was set up wrongly.
//
// # Gates
//
// A policy is about one call. Package gate limits calls together: how many run at a time,
// how often attempts start, how many retries there may be in all, and whether attempts
// make sense at the moment. Its option Through makes a call pass gates.
//
// # How the package is built
//
// The decision is a pure function: Decide gets the policy, the state of the call
// ([State]), the failure ([Failure], made from an error by [Classify]), the time and the
// random draw as arguments, and returns what to do. It does no I/O, reads no clock, draws
// nothing and does not sleep. A runner supplies the arguments, sleeps, and stores the
// state. Do is the runner for a call in process. A runner of your own has these duties:
//
//  1. Validate the policy before the first attempt.
//  2. Count an attempt in State.Attempt when it fails, not when its worker is
//     lost.
//  3. Keep First and, between attempts, Previous as they were decided.
//  4. Draw u once per failure. If the runner can be interrupted, store the decision and
//     do not decide again.
//  5. Start no attempt before Decision.At, and none if the call has been canceled
//     meanwhile.
//
// The statements of the specification that the tests prove are numbered R1, R2
// and so on; the tests have these numbers in their names.
package retry
