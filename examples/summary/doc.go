// Command summary lets a language model summarise documents and then their summaries,
// under the limits of the model's service, and pays for each answer once.
package main
