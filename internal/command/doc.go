// Package command is the table of commands: the verbs by which people and programs change
// something. A row says of a verb what it is done to, what it is called, what it means, and
// what it needs to know; it does the verb, or says what the verb would come to. The command
// line, the HTTP API and the dashboard are made from the rows, so a verb is one file and one
// row, and no face can lack it or check it otherwise.
//
// What a verb needs to know is a struct. Its fields carry, by tags, their names in each face,
// help and bounds; see package param.
package command
