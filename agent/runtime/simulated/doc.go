// Package simulated is a runtime without processes. By default containers start immediately.
// Annotations of the pod set how long its containers run and their exit code. Thousands of nodes
// run in one process.
//
// Annotations of a pod:
//
//	sim.berth.dev/run-seconds      how long containers run; default: until stopped. Those of Jobs and
//	                               Helm hooks exit after 1 s by default, init containers other than
//	                               sidecars immediately.
//	sim.berth.dev/exit-code        exit code, 0 to 255; default: 0
//	sim.berth.dev/start-seconds    how long containers take to start, such as for an image pull; default: 0
//	sim.berth.dev/stop-seconds     how long containers take to stop; default: 0
//	sim.berth.dev/prestop-seconds  how long a preStop hook takes; default: its sleep action, or 0
//	sim.berth.dev/usage            memory, disk, inodes and processes over time
//	                               (engine/nodepressure/usage, applied by agent/pressure/scripted)
//
// Seconds may have a fraction. A prefix selects one container: NAME.sim.berth.dev/run-seconds. With
// an invalid run-seconds or exit-code the container fails immediately with code 128, like a command
// that cannot be executed. Invalid values of the other annotations are ignored. InvalidAnnotations
// returns messages for events about all invalid values.
package simulated
