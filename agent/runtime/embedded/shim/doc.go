// Package shim is the process that stays with a container: its parent, which keeps its log,
// its standard streams and its exit status, and outlives the agent.
//
//	agent ──▶ berth-shim DIR ──▶ berth-init ══▶ the container's program
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
//   - DIR/exit is there when the lock is free, unless the shim was killed; then the container is
//     killed too, by the kernel where it can, else by the agent that finds this;
//   - what the container wrote before it ended is in the log before DIR/exit is there;
//   - who is attached and slow holds the container up, but for 10 s at most, then they are let go.
//
// It runs in the initialisation of the package, before that of what else the program links (agent/early): it imports nothing of the
// standard library but what package os imports, too, and strconv. All is done in one thread, with buffers of fixed size and, by the environment that
// the agent starts it with, without garbage collection; and it gives the mapped pages of the program's file
// back. A hundred of them are to cost less than one agent.
package shim
