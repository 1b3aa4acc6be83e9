// Package grpcretry makes errors that a retry policy can judge of what gRPC servers
// say about retries. It does not import gRPC.
package grpcretry
