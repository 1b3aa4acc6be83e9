// Package post knows which message waits where. An Office has a Box for each location of this
// node. A Box knows which messages of the inbox were delivered, which are consumed, and which
// wait in memory because their run cannot take them yet or does not exist yet. A Route says which
// run of a workflow ID gets a message for the latest one while the database does not say so. A
// Look is one reading of the inbox.
//
// Mail is what a run, a gate or a schedule hears, with the moment at which it became durable.
//
// Nothing here calls back or reads a database: the engine reads the inbox, asks where each message
// belongs, and puts it into the mailbox of its run.
package post
