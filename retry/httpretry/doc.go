// Package httpretry turns the outcomes of HTTP requests into errors that a retry policy
// can judge.
//
// net/http returns a response with status 503 and a nil error, and a network
// failure with the whole URL in its text. A Client here returns both as typed
// errors that a policy can judge:
//
//		var client = httpretry.New(nil, httpretry.Key("Idempotency-Key", activity.IdempotencyKey))
//
//		resp, err := client.Do(req) // in an activity, or in retry.Do
//		if err != nil {
//			return Payment{}, err
//		}
//		defer resp.Body.Close()
//
//	  - A status of 400 or more is a *StatusError, with an excerpt of the body. Those
//	    below 500 are terminal, because the same request would be refused again;
//	    except 408 (timeout), 425 (too early) and 429 (too many requests).
//	  - A Retry-After of a response that may be retried is the delay that the error
//	    asks for: see retry.After.
//	  - A request without a response is a *NetworkError.
//	  - A request that cannot be sent is a terminal error: its body cannot be read a second
//	    time, or a header has a line break.
//	  - For a canceled request errors.Is finds context.Canceled.
//
// # What may have been done
//
// A request that changes something at the server (any method but GET, HEAD, OPTIONS and TRACE)
// and got no response says whether it may have had its effect, for policies with OnUnknown and
// for activity.Verify. Before a header of it was written (the connection was refused, there is
// no such host, the server refused it unprocessed), it is marked with retry.NotDone; after
// that (the connection broke, or the time was over) with retry.Unknown. The same holds for the
// statuses 502 and 504 of a gateway, and for a good response whose body cannot be read to its
// end. A body that sends several requests has to judge itself: that one was not done says
// nothing of those before it.
//
// No error names user, password, query or fragment of the URL. The body of a
// response that became an error is closed, and drained as far as keeps its
// connection in use.
//
// A Client never retries by itself; the policy decides. It also prevents net/http from
// repeating idempotent requests, and those with an Idempotency-Key header, when a kept
// connection breaks: each request on the wire is an attempt that the policy decided. So a
// connection that the server closed while it was idle can become a NetworkError.
// Redirects are followed as the http.Client says.
//
// # In policies
//
// The type of a StatusError is HTTP and the status, such as HTTP503, and besides
// HTTP4xx or HTTP5xx; that of a NetworkError is HTTPNetwork, or HTTPTimeout:
//
//	[retry: 3] [HTTP429 -> retry: 10] [HTTPTimeout -> retry: 2]
//
// Both types are registered with package retry, so workflows get them back with
// errors.As.
package httpretry
