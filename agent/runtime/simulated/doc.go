// Package simulated is a runtime without processes: containers start at once,
// run for as long as an annotation of their pod says, and end with the code that
// another one says. Thousands of nodes run in one process.
//
// Annotations of a pod:
//
//	sim.berth.dev/run-seconds   how long its containers run, a number of seconds
//	                            with an optional fraction; absent: until stopped.
//	                            Init containers that are no sidecars end at once
//	                            unless it is given for them.
//	sim.berth.dev/exit-code     what they exit with, 0 to 255; absent: 0
//	sim.berth.dev/stop-seconds  how long they take to stop when asked; absent: at once
//	sim.berth.dev/prestop-seconds  how long a preStop hook takes; absent: what its
//	                            sleep action says, or no time
//	sim.berth.dev/usage         what they use over time: memory, disk, inodes, processes
//	                            (engine/nodepressure/usage; agent/pressure/scripted acts upon it)
//
// Each may be given for one container as NAME.sim.berth.dev/run-seconds.
// A value that cannot be read makes the container fail at once with code 128,
// as a command that cannot be run does; of the last three it counts as absent.
// Unreadable says so, for events (agent/pressure/scripted).
package simulated
