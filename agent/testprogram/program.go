package testprogram

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// flags are the values of the program's flags; declare describes each.
type flags struct {
	listen       string
	unreadyAfter time.Duration
	readyAfter   time.Duration

	memory, memoryRate, memoryShared size
	write, writeRate                 size
	writeTo                          string
	rewrite                          bool
	read                             string
	reads                            int
	inodes                           int
	inodesIn                         string
	inodeRate                        int
	processes, processRate           int
	cpu                              int
	lines, lineRate, lineSize        int

	attack     attackList
	attackSize size

	exit          int
	after         time.Duration
	ignoreSIGTERM bool
	stopDelay     time.Duration
	graceful      bool
}

func (f *flags) declare(s *flag.FlagSet) {
	s.StringVar(&f.listen, "listen", "", "serve HTTP at this `address`, such as :8080: / returns the host name, /healthz the health, /env the environment; POST /exit?code=N exits, POST /memory?bytes=64Mi allocates memory")
	s.DurationVar(&f.readyAfter, "ready-after", 0, "return 503 from /healthz for this long after the start")
	s.DurationVar(&f.unreadyAfter, "unready-after", 0, "return 503 from /healthz after this time; 0 is never")

	s.Var(&f.memory, "memory", "allocate this much memory, such as 100Mi")
	s.Var(&f.memoryRate, "memory-rate", "bytes per second for -memory, such as 500Mi; 0 is unlimited")
	s.Var(&f.memoryShared, "memory-shared", "allocate this much memory as a file in /dev/shm")

	s.Var(&f.write, "write", "number of bytes to write to a file")
	s.Var(&f.writeRate, "write-rate", "bytes per second for -write; 0 is unlimited")
	s.StringVar(&f.writeTo, "write-to", "data", "`file` to write")
	s.BoolVar(&f.rewrite, "rewrite", false, "write the file repeatedly")
	s.StringVar(&f.read, "read", "", "`file` to read, after writing if -write-to names it")
	s.IntVar(&f.reads, "reads", 1, "number of times to read; 0 is unlimited")
	s.IntVar(&f.inodes, "inodes", 0, "number of empty files to create")
	s.StringVar(&f.inodesIn, "inodes-in", "inodes", "`directory` of -inodes")
	s.IntVar(&f.inodeRate, "inode-rate", 0, "files per second for -inodes; 0 is unlimited")

	s.IntVar(&f.processes, "processes", 0, "number of sleeping processes to start; -1 is unlimited")
	s.IntVar(&f.processRate, "process-rate", 0, "processes per second for -processes; 0 is unlimited")
	s.IntVar(&f.cpu, "cpu", 0, "CPU usage in millicores, at most 1000")
	s.IntVar(&f.lines, "lines", 0, "number of lines to print; -1 is unlimited")
	s.IntVar(&f.lineRate, "line-rate", 0, "lines per second for -lines; 0 is unlimited")
	s.IntVar(&f.lineSize, "line-size", 64, "length of the lines in bytes")

	s.Var(&f.attack, "attack", "disturb the node from a container; a list of "+strings.Join(attackNames, ", "))
	s.Var(&f.attackSize, "attack-size", "bytes that -attack=write writes to each writable path")

	s.IntVar(&f.exit, "exit", 0, "exit code; a nonzero code without other tasks exits immediately")
	s.DurationVar(&f.after, "after", 0, "exit after this time; 0 waits for a signal or request")
	s.BoolVar(&f.ignoreSIGTERM, "ignore-sigterm", false, "do not exit on SIGTERM")
	s.BoolVar(&f.ignoreSIGTERM, "deaf", false, "deprecated: use -ignore-sigterm")
	s.DurationVar(&f.stopDelay, "stop-delay", 0, "time from SIGTERM to the exit")
	s.BoolVar(&f.graceful, "graceful", false, "on SIGTERM accept pending connections, close the listener, answer the requests, and exit")
	s.DurationVar(&f.stopDelay, "last-words", 0, "deprecated: use -stop-delay")
}

// Main runs the program and returns its exit code. It starts all tasks that the flags select and
// waits for a reason to exit.
func Main(args []string, out, errOut io.Writer) int {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return runCommand(args, out, errOut)
	}
	var f flags
	set := flag.NewFlagSet("workload", flag.ContinueOnError)
	set.SetOutput(errOut)
	f.declare(set)
	if err := set.Parse(args); err != nil {
		return 2
	}
	if set.NArg() > 0 {
		fmt.Fprintf(errOut, "workload: %q: not a flag\n", set.Arg(0))
		return 2
	}
	w := &worker{flags: f, out: out, errOut: errOut, exitCodes: make(chan int, 1), started: time.Now()}
	return w.run()
}

// worker is one run of the program.
type worker struct {
	flags
	mu          sync.Mutex // guards out, errOut and mappings
	out, errOut io.Writer
	mappings    [][]byte
	exitCodes   chan int // receives the exit code of a request
	started     time.Time
	server      *http.Server
	listener    *net.TCPListener
	served      chan struct{} // closed when the server accepts no more connections
	connections sync.WaitGroup
}

// run starts the tasks, waits for a reason to exit, and returns the exit code.
func (w *worker) run() int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if w.listen != "" {
		if err := w.serveHTTP(ctx); err != nil {
			fmt.Fprintln(w.errOut, "workload:", err)
			return 1
		}
	}
	w.startTasks(ctx)
	var after <-chan time.Time
	if w.after > 0 || w.exit != 0 && !w.hasTasks() {
		after = time.After(w.after)
	}
	for {
		select {
		case <-after:
			return w.exit
		case code := <-w.exitCodes:
			return code
		case s := <-signals:
			w.printf("received %v", s)
			if w.ignoreSIGTERM {
				continue
			}
			w.finishRequests(ctx)
			time.Sleep(w.stopDelay)
			return w.exit
		}
	}
}

// hasTasks reports whether the flags select a task.
func (w *worker) hasTasks() bool {
	f := w.flags
	return f.listen != "" || f.memory+f.memoryShared+f.write != 0 || f.read != "" || f.inodes != 0 || f.processes != 0 || f.cpu != 0 || f.lines != 0 || len(f.attack) != 0
}

// startTasks starts each selected task except the HTTP server.
func (w *worker) startTasks(ctx context.Context) {
	type task struct {
		name    string
		enabled bool
		run     func(context.Context) error
	}
	tasks := []task{
		{"memory", w.memory > 0, func(ctx context.Context) error { return w.allocateMemory(ctx, int64(w.memory), int64(w.memoryRate)) }},
		{"memory-shared", w.memoryShared > 0, w.allocateShared},
		{"write", w.write > 0, w.writeFile},
		{"read", w.read != "" && (w.write == 0 || w.read != w.writeTo), w.readFile},
		{"inodes", w.inodes > 0, w.createFiles},
		{"processes", w.processes != 0, w.startProcesses},
		{"cpu", w.cpu > 0, w.burnCPU},
		{"lines", w.lines != 0, w.printLines},
	}
	for _, name := range w.flags.attack {
		tasks = append(tasks, task{"attack " + name, true, func(ctx context.Context) error { return w.runAttack(ctx, name) }})
	}
	for _, t := range tasks {
		if !t.enabled {
			continue
		}
		go func() {
			if err := t.run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				w.printf("%s failed: %v", t.name, err)
				return
			}
			w.printf("%s done", t.name)
		}()
	}
}

func (w *worker) printf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.out, format+"\n", args...)
}

// runPaced calls step with the amount that is due until the sum is total or ctx ends. A negative total
// is unlimited. rate is per second; 0 is unlimited.
func runPaced(ctx context.Context, total, rate int64, step func(due int64) error) error {
	start, completed := time.Now(), int64(0)
	for completed < total || total < 0 {
		due := int64(1 << 20)
		if rate > 0 {
			due = int64(time.Since(start).Seconds()*float64(rate)) - completed
		}
		if total >= 0 {
			due = min(due, total-completed)
		}
		if due <= 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
			continue
		}
		if err := step(due); err != nil {
			return err
		}
		completed += due
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
