// Package agent runs the real node agent (package berth/agent) on each simulated node, with the simulated runtime and
// scripted usage. The agents run in coroutines under virtual time. This package implements the machines on which they
// run: it delivers watch events, carries requests, stops and disconnects agents, and writes the timeline.
//
// A machine starts its agent when there is something to do: a first pod, scripted usage, or a status to correct. Until
// then the machine is idle, and only an entry in a map. The agents do not renew their Leases: most events of a run would
// be renewals that change only a time. The type leases renews them instead.
package agent
