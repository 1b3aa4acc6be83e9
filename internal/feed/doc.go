// Package feed reads from the database what makes the runs of this node go on: the messages in the
// inboxes of its locations (Inbox), the times at which runs want a step (Due), the first of those that
// wait to begin (Line), and, when it is asked, those without code (Held). Inbox and Line read on news,
// and periodically in case news was lost; Due reads periodically, ahead of time. What was read is handed
// to the engine, and not kept.
//
// A location may be taken over while they read. Due moves its horizon and then asks for the locations; who
// takes one adds it and then reads up to the horizon. So one of them finds each due time. Line asks for the
// locations after it has noted which news it answers.
package feed
