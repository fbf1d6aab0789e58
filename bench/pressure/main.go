package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/berthproject/berth/internal/testkit/fixtures"
)

func main() {
	fixtures.Main()
	runs := flag.Int("runs", 100, "runs with the agent and a hog of 500 MiB/s; a fifth of them with each other rate, a tenth with each polling variant")
	quick := flag.Bool("quick", false, "smoke test: five runs with 500 and 2000 MiB/s, one with each polling variant")
	inContainers := flag.Bool("cri", false, "run hogs in containers of a private containerd, with the agent only")
	useEmbedded := flag.Bool("embedded", false, "run hogs in containers of the embedded runtime, with the agent only")
	pods := flag.Int("pods", 50, "pods on the node")
	memory := flag.Int64("memory", 2<<30, "`bytes` of the node")
	rate := flag.Int64("rate", 0, "rate of the hog in MiB/s; 0: 100, 500, 1000 and 2000, in containers 500")
	noPolls := flag.Bool("no-polls", false, "omit the polling variants")
	threshold := flag.Int64("threshold", 100<<20, "`bytes` that must be available")
	timesOnly := flag.Bool("times-only", false, "print times without a verdict, for an emulated machine")
	verbose := flag.Bool("v", false, "print the agent's log")
	flag.Parse()
	if !*verbose {
		klog.SetLogger(klog.Logger{})
	}
	b := bench{containers: *inContainers || *useEmbedded, embedded: *useEmbedded, timesOnly: *timesOnly, pods: *pods, memory: *memory, threshold: *threshold, runs: *runs, rates: []int64{100, 500, 1000, 2000}}
	if *quick {
		b.runs, b.rates = 5, []int64{500, 2000}
	}
	if b.containers {
		b.rates = []int64{500}
	}
	if *rate > 0 {
		b.rates = []int64{*rate}
	}
	if *noPolls {
		watchers = watchers[:1]
	}
	if err := b.runAll(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-pressure:", err)
		os.Exit(1)
	}
}

// bench holds the options of a run.
type bench struct {
	containers, embedded bool // whether hogs are containers, and of the embedded runtime
	timesOnly            bool
	pods                 int
	memory, threshold    int64 // bytes
	runs                 int
	rates                []int64 // MiB/s
}

// watchers are the agent's loop and the polling variants.
var watchers = []watcher{{"berth", 0}, {"poll 1 s", time.Second}, {"poll 10 s", 10 * time.Second}}

// count returns the number of runs of a watcher with a rate in MiB/s.
func (b bench) count(w watcher, rate int64) int {
	switch {
	case w.poll > 0:
		return max(b.runs/10, 1)
	case rate == 500:
		return b.runs
	}
	return max(b.runs/5, min(b.runs, 5))
}

func (b bench) runAll() error {
	newNode := newProcessNode
	if b.containers {
		newNode = func(memory int64, pods int) (node, error) { return newContainerNode(memory, pods, b.embedded) }
	}
	n, err := newNode(b.memory, b.pods)
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		_ = n.close()
		os.Exit(130)
	}()
	rows, err := b.rows(n)
	if closeErr := n.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	fmt.Printf("node of %d MiB, hard threshold %d MiB, %d pods; %s, cgroups %s, %d CPUs, load %s\n",
		b.memory>>20, b.threshold>>20, b.pods, kernelVersion(), n.host().Mode, runtime.NumCPU(), loadAverage())
	printTable(os.Stdout, rows)
	return b.verdict(rows)
}

// rows runs the hogs with each rate and watcher.
func (b bench) rows(n node) ([]row, error) {
	var rows []row
	for _, rate := range b.rates {
		for _, w := range watchers {
			if b.containers && w.poll > 0 {
				continue
			}
			r := row{watcher: w, rate: rate << 20}
			for i := range b.count(w, rate) {
				o, err := run(n, w, b.threshold, rate<<20)
				if err != nil {
					return nil, err
				}
				r.runs = append(r.runs, o)
				fmt.Fprintf(os.Stderr, "\r%-10s %5d MiB/s  %3d", w.name, rate, i+1) // progress
			}
			rows = append(rows, r)
			fmt.Fprintln(os.Stderr)
			printTable(os.Stderr, []row{r})
		}
	}
	fmt.Fprintln(os.Stderr)
	return rows, nil
}

// verdict returns an error if the agent's loop does not meet its requirements.
func (b bench) verdict(rows []row) error {
	var failures []string
	for _, r := range rows {
		if r.watcher.poll > 0 {
			continue
		}
		name := fmt.Sprintf("hog of %d MiB/s: ", r.rate>>20)
		if n := r.oomKills(); n > 0 && r.rate>>20 <= 500 {
			failures = append(failures, name+fmt.Sprintf("the kernel's OOM killer killed the hog first in %d runs, want 0", n))
		}
		if unexpected := r.unexpected(); len(unexpected) > 0 {
			failures = append(failures, name+fmt.Sprintf("unexpected evictions: %v", unexpected))
		}
		if b.timesOnly {
			continue
		}
		kills := r.times(func(o outcome) time.Duration { return o.kill })
		if len(kills) > 0 && (quantile(kills, .5) > 5*time.Millisecond || quantile(kills, .99) > 50*time.Millisecond) {
			failures = append(failures, name+"crossing to SIGKILL takes more than 5 ms (p50) or 50 ms (p99)")
		}
		recoveries := r.times(func(o outcome) time.Duration { return o.recovery })
		if b.containers && len(recoveries) > 0 && quantile(recoveries, .99) > 100*time.Millisecond {
			failures = append(failures, name+"usage is back under the threshold after more than 100 ms (p99)")
		}
	}
	if len(failures) > 0 {
		return fmt.Errorf("%s", strings.Join(failures, "; "))
	}
	return nil
}

func kernelVersion() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "Linux"
	}
	return "Linux " + strings.TrimSpace(string(b))
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(b))[0]
}
