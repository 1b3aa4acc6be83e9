// Package durable is perdure as a system under test, on each of its stores.
package durable
