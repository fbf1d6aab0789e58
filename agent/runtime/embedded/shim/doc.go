// Package shim is the parent process of a container of the embedded runtime. It keeps the
// container's log, standard streams and exit status, and survives the agent.
//
//	agent ──▶ berth-shims, the zygote: DIR, files ─▶ a fork of itself, a child of the agent, waits for Go
//	    └────── berth-shim DIR ──▶ berth-init ══▶ the container's program
//	                │   stdout, stderr ─▶ log in CRI format, attached clients
//	                └─ DIR/control: attach, resize, reopen the log
//
//	DIR/shim.conf   the Config
//	DIR/init.json   the Spec of berth-init (package containerinit)
//	DIR/lock        locked while the shim runs, from before its start
//	DIR/process     process IDs of shim and container, written after the start
//	DIR/user        user, group and groups of the program at its start
//	DIR/exit        exit status, written atomically as the shim's last action
//
// Invariants:
//
//   - A shim starts its container only after the agent has claimed the shim (Go). It never starts a
//     container that the agent has abandoned. If the agent exits before it claims the shim, the shim
//     removes DIR/lock: the container was not started.
//   - If the lock is free, DIR/exit exists, unless the shim was killed. In that case the
//     container is killed as well, by the kernel if possible, otherwise by the agent.
//   - All output of the container is in the log before DIR/exit exists.
//   - An attached client that does not read blocks the container for at most 10 s; then it is
//     disconnected.
//
// A process that executes this program touches up to 27 MiB before its first instruction. They are tables
// that Go's runtime verifies, and pages that the kernel maps around them. The agent therefore executes it
// once, as the zygote. The zygote drops these pages and forks (without exec) for each container. A fork
// uses only the pages that it touches, 1.2 to 2.7 MiB, and starts immediately. zygote.fork explains why
// that works with Go's runtime. The zygote also forks and executes berth-exec and berth-sandbox (Program),
// so that the agent does not fork.
//
// The zygote exits with the agent; shims do not need it. The agent starts a new zygote if the old
// one was killed, does not respond, or has forked 10,000 times.
//
// The code runs in the package's init function, before the initialization of the other packages
// of the program (agent/fastinit). It imports only strconv and packages that os imports. A shim
// has one thread, fixed buffers and no garbage collection. It uses its own system calls (call)
// and no files, processes or timers of packages os and time.
package shim
