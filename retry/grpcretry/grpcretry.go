package grpcretry

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/retry"
)

// Pushback gives err the delay that a server asks for in the trailer
// "grpc-retry-pushback-ms", as retry.After does. By gRPC's retry design (A6) a
// value that is negative or not a number tells the client not to retry; err is
// then marked with retry.Terminal. An empty value, for an absent trailer, leaves
// err as it is.
func Pushback(err error, trailer string) error {
	switch {
	case trailer == "":
		return err
	case strings.Trim(trailer, "0123456789") != "":
		return retry.Terminal(err)
	}
	ms, parseErr := strconv.ParseUint(trailer, 10, 64)
	if parseErr != nil || ms > math.MaxInt64/uint64(time.Millisecond) {
		return retry.After(err, math.MaxInt64)
	}
	return retry.After(err, time.Duration(ms)*time.Millisecond)
}

// Duration is a google.protobuf.Duration: seconds and nanoseconds of the same
// sign.
type Duration interface {
	GetSeconds() int64
	GetNanos() int32
}

// RetryInfo gives err the delay of a google.rpc.RetryInfo, as retry.After does;
// pass the message's GetRetryDelay(). A negative or malformed delay tells the
// client not to retry; err is then marked with retry.Terminal. A nil delay leaves
// err as it is.
func RetryInfo(err error, delay Duration) error {
	if delay == nil {
		return err
	}
	seconds, nanos := delay.GetSeconds(), delay.GetNanos()
	switch {
	case seconds < 0 || nanos < 0 || nanos >= int32(time.Second):
		return retry.Terminal(err)
	case seconds > math.MaxInt64/int64(time.Second)-1:
		return retry.After(err, math.MaxInt64)
	}
	return retry.After(err, time.Duration(seconds)*time.Second+time.Duration(nanos))
}

// Outcome says whether a call that failed may have had its effect, by whether a message of it
// was sent: the error is marked with retry.Unknown, or with retry.NotDone. sent is what a
// stats.Handler or an interceptor of the client has seen: an OutPayload or OutHeader, or that
// Invoke of the transport was reached. Only the codes that a client or a proxy gives by itself
// are marked, 4 (DEADLINE_EXCEEDED), 13 (INTERNAL), 14 (UNAVAILABLE) and, if it was not sent, 1
// (CANCELLED): with any other the server has answered.
func Outcome(err error, code uint32, sent bool) error {
	switch code {
	case 4, 13, 14:
		if sent {
			return retry.Unknown(err)
		}
		return retry.NotDone(err)
	case 1:
		if !sent {
			return retry.NotDone(err)
		}
	}
	return err
}
