// Package feed reads from the database what makes the runs of this node go on: the messages in the
// inboxes of its locations, and the times at which runs want a step. Each reader reads on news, and
// periodically in case news was lost. It hands what it read to the engine and keeps none of it.
package feed
