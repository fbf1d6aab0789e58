// Package agent runs the real node agent (package agent) on each simulated node: its pod loop with the simulated runtime
// and scripted usage, in coroutines under virtual time. The package itself is the machines around the agents: it delivers
// watches, carries requests, stops and disconnects agents, and writes the timeline.
//
// A machine is idle until it has something to do: a first pod, scripted usage, or a status to correct. An idle machine is an
// entry in a map. The world renews the Leases, because renewals that change nothing but a time would be most of all events.
package agent
