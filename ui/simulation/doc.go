// Package simulation runs a scenario for the web page and sends its states while it runs. Scenarios come from users
// who are not trusted: a run has limits for its input, objects, events, output, memory and duration.
package simulation
