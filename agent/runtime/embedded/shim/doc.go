// Package shim is the process that stays with a container: its parent, which keeps its log,
// its standard streams and its exit status, and outlives the agent.
//
//	agent ──▶ berth-shims, the original: DIR, files ─▶ a copy of itself, the agent's child, which waits for Go
//	    └────── berth-shim DIR ──▶ berth-init ══▶ the container's program
//	                │   stdout, stderr ─▶ log, in CRI's format, and who is attached
//	                └─ DIR/control: attach, resize, reopen the log
//
//	DIR/shim.conf   what to do, a Config
//	DIR/init.json   what berth-init does (package inside)
//	DIR/lock        held as long as the shim lives, from before it was started
//	DIR/process     ids of shim and container, once the container is started
//	DIR/exit        how it ended, written whole by rename: the shim's last deed
//
// Invariants:
//
//   - a shim begins its container once the agent has taken it (Go): not one that the agent has given up meanwhile. Where
//     the agent ended before, the shim removes DIR/lock: the container was not started;
//   - DIR/exit is there when the lock is free, unless the shim was killed; then the container is
//     killed too, by the kernel where it can, else by the agent that finds this;
//   - what the container wrote before it ended is in the log before DIR/exit is there;
//   - who is attached and slow holds the container up, but for 10 s at most, then they are let go.
//
// A process that executes this program has touched up to 27 MiB before anything of it runs: the tables that Go's runtime checks, and all that
// the kernel maps around them. So an agent has one process execute it, the original, which gives that back and copies
// itself (fork, without exec) for each container: a copy has only what it touches itself, 1.2 MiB, and 2.7 at most, and
// needs no time to begin. How that goes well in Go is said at original.copy.
//
// The original ends with the agent; shims do not need it. Who kills it has killed nothing else: another one is started. So does the
// agent when the original does not answer, and after 10,000 copies.
//
// It runs in the initialisation of the package, before that of what else the program links (agent/fastinit): it imports nothing of the
// standard library but what package os imports, too, and strconv. A shim does all in one thread, with buffers of fixed size, without
// garbage collection and by system calls of its own (call): it uses no file, process or timer of package os or time.
package shim
