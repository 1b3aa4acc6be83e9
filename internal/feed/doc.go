// Package feed reads from the database what makes the runs of this node go on: the messages in the
// inboxes of its locations (Inbox), the times at which runs want a step (Due), the first of those that
// wait to begin (Line), and, when it is asked, those without code (Held). The first three read on news,
// and periodically in case news was lost. What was read is handed to the engine, and not kept.
package feed
