// Command billing charges all subscriptions each month: a workflow on a schedule, which
// leaves no period out and bills none twice.
package main
