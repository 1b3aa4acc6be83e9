// Command perdure looks at durable workflows and drives them, and shows with
// perdure demo what they can survive. See perdure --help.
package main
