// Package access defines who may use perdure over HTTP: the rules for the HTTP API
// (package api) and the dashboard.
//
//	rules := access.Rules{
//		Tokens: []access.Token{{Name: "ann", Role: access.Operator, Secret: os.Getenv("PERDURE_TOKEN")}},
//		Hosts:  []string{"perdure.example.com"},
//	}
//
// A program sends its token in the header "Authorization: Bearer SECRET". A person enters
// it in the login form of the dashboard and gets a cookie that replaces the token until
// it expires. The audit records the name of the token.
//
// # Roles
//
// A viewer reads, an operator changes as well. A program that only starts workflows and waits
// for them needs less, and so does one that ends attempts which workflows wait for: give it
// the role of a starter or of a worker, limited to the workflows or queues that concern it
// (Role.Only). A dashboard is for viewers and operators.
//
// # What every request meets
//
// In this order, whatever the route: limits on the address and the headers, the list of
// hosts, protection against requests that other sites make a browser send, the method, the
// token, the role, the read-only switch, the type, size and speed of the body.
// Nothing of the request is done before all of them are passed.
//
// A request that is refused before its body was read is answered immediately, and its connection
// is closed: nothing waits for the rest of the body. That, and the limits of time, need a
// http.ResponseWriter with deadlines. A middleware that wraps the writer has to have a method
// Unwrap, as http.ResponseController says. If it has none, set http.Server.ReadTimeout.
//
// Rules are plain data and may be shared. Secrets are compared in constant time.
package access
