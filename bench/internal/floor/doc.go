// Package floor is the least that durable steps can cost: one goroutine a
// workflow, one row a step, and one goroutine that commits all rows that are
// ready, up to 512, in one transaction. It has no engine, records nothing
// that a user could want, and nothing but a restart from the rows is possible.
// What a system costs above it is the price of what the system does.
package floor
