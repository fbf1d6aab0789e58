package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/berthproject/berth/parity/process"
	"github.com/berthproject/berth/parity/workload"
)

// roundRobin is a client that binds each pod to the next node as soon as it observes the pod.
const roundRobin = "round-robin client"

// arrival has the measurements of a workload on an API server.
type arrival struct {
	pods       int
	seconds    float64 // from the first creation to the last binding
	creating   float64 // seconds from the first creation to the last
	p50, p99   time.Duration
	cpu        float64 // seconds, of the scheduler
	serverCPU  float64
	peak       float64 // bytes, of the scheduler
	used       int     // nodes
	maxPerNode int     // pods on one node
}

func (a *arrival) speed() float64 { return float64(a.pods) / a.seconds }

// endToEnd runs both schedulers and the round-robin client with the same API server.
func (b *bench) endToEnd() error {
	commands := map[string]string{}
	var err error
	if commands[kube], err = process.Build(b.ctx, ".", "k8s.io/kubernetes/cmd/kube-scheduler", "kube-scheduler", process.KubeVersionFlags); err != nil {
		return err
	}
	if commands[berth], err = process.Build(b.ctx, b.o.berth, "./cmd/berth", "berth"); err != nil {
		return err
	}
	sizes := []int{1000, 5000}
	if b.o.quick {
		sizes = []int{100}
	}
	fmt.Printf("\nEnd to end: a fresh `berth server` for each row, 32 creators at full speed, everything on the same CPUs;\n" +
		"creation to binding as observed by one watch; CPU and memory are those of the scheduler's process\n\n")
	fmt.Println("| workload | nodes | pods | client | bound/s | created/s | p50 ms | p99 ms | CPU µs/pod | server's CPU µs/pod | MiB peak | nodes used / most on one |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	var v verdicts
	for _, s := range endToEndCases() {
		for _, nodes := range sizes {
			if !b.o.only.MatchString(s.Name) {
				continue
			}
			if err := b.compareSchedulers(commands, s, nodes, &v); err != nil {
				return err
			}
		}
	}
	v.print(b.o)
	return nil
}

// endToEndCases returns the cases that endToEnd measures, with their number of pods.
func endToEndCases() (cases []workload.Case) {
	pods := map[string]int{"plain": 10_000, "required affinity, zone": 2000, "hard spread, zone": 2000}
	for _, s := range workload.Cases() {
		if s.Pods = pods[s.Name]; s.Pods > 0 {
			cases = append(cases, s)
		}
	}
	return cases
}

func (b *bench) compareSchedulers(commands map[string]string, s workload.Case, nodes int, v *verdicts) error {
	pods := s.Pods
	if b.o.quick {
		pods = 200
	}
	got := map[string][]*arrival{}
	all := []string{roundRobin, kube, berth}
	for range b.o.rounds {
		for _, scheduler := range all {
			a, err := b.measureScheduler(commands, scheduler, s.Make(nodes, pods, 0))
			if err != nil {
				return fmt.Errorf("%s, %d nodes, %s: %w", s.Name, nodes, scheduler, err)
			}
			got[scheduler] = append(got[scheduler], a)
		}
	}
	speeds, tails := map[string]summary{}, map[string]summary{}
	for _, scheduler := range all {
		median := func(of func(*arrival) float64) float64 { return summarizeArrivals(got[scheduler], of).median }
		speeds[scheduler], tails[scheduler] = summarizeArrivals(got[scheduler], (*arrival).speed), summarizeArrivals(got[scheduler], func(a *arrival) float64 { return ms(a.p99) })
		fmt.Printf("| %s | %d | %d | %s | %v | %.0f | %.0f | %v | %.0f | %.0f | %.0f | %d / %d |\n", s.Name, nodes, got[scheduler][0].pods, scheduler, speeds[scheduler],
			median(func(a *arrival) float64 { return float64(a.pods) / a.creating }), median(func(a *arrival) float64 { return ms(a.p50) }), tails[scheduler],
			median(func(a *arrival) float64 { return a.cpu / float64(a.pods) * 1e6 }), median(func(a *arrival) float64 { return a.serverCPU / float64(a.pods) * 1e6 }),
			median(func(a *arrival) float64 { return a.peak / (1 << 20) }), got[scheduler][0].used, got[scheduler][0].maxPerNode)
	}
	k, o, ceiling := speeds[kube].median, speeds[berth].median, speeds[roundRobin].median
	want := min(3*k, 0.9*ceiling)
	v.add(fmt.Sprintf("%s, %d nodes: %.0f pods/s, target %.0f (the lower of 3 times %.0f and 90 %% of %.0f)", s.Name, nodes, o, want, k, ceiling), o >= want)
	v.add(fmt.Sprintf("%s, %d nodes: p99 %.0f ms, target a third of %.0f ms", s.Name, nodes, tails[berth].median, tails[kube].median), 3*tails[berth].median <= tails[kube].median)
	return nil
}

// summarizeArrivals summarizes a figure of all arrivals.
func summarizeArrivals(all []*arrival, of func(*arrival) float64) summary {
	values := make([]float64, len(all))
	for i, a := range all {
		values[i] = of(a)
	}
	return newSummary(values)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measureScheduler runs a workload with a scheduler or the round-robin client, on a separate server.
func (b *bench) measureScheduler(commands map[string]string, scheduler string, w *workload.Workload) (*arrival, error) {
	s, err := b.startServer(commands[berth])
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	if err := createObjects(b.ctx, s.client, w); err != nil {
		return nil, err
	}
	pid := 0
	if scheduler == roundRobin {
		stop, err := bindRoundRobin(b.ctx, s, w)
		if err != nil {
			return nil, err
		}
		defer stop()
	} else {
		p, err := b.startScheduler(scheduler, s, commands)
		if err != nil {
			return nil, err
		}
		defer p.Stop()
		pid = p.Pid()
	}
	return b.observe(s, w, pid)
}

// observe warms up, creates the pods, and measures. pid is the process of the scheduler,
// or 0.
func (b *bench) observe(s *server, w *workload.Workload, pid int) (*arrival, error) {
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	warm := min(w.Warm, 200)
	// The observer must not wait for the requests of the creators.
	observer, err := newClient(filepath.Join(s.dir, "kubeconfig"))
	if err != nil {
		return nil, err
	}
	watcher, err := watchPods(ctx, observer, nil)
	if err != nil {
		return nil, err
	}
	if err := b.create(s, w, 0, warm); err != nil {
		return nil, err
	}
	if err := b.waitBound(watcher, warm, s); err != nil {
		return nil, err
	}
	if watcher, err = watchPods(ctx, observer, nil); err != nil {
		return nil, err
	}
	a := &arrival{pods: len(w.Pods) - w.Warm}
	cpuBefore, serverCPUBefore := cpuOf(pid), cpuOf(s.Pid())
	from := time.Now()
	if err := b.create(s, w, w.Warm, len(w.Pods)); err != nil {
		return nil, err
	}
	a.creating = time.Since(from).Seconds()
	if err := b.waitBound(watcher, a.pods, s); err != nil {
		return nil, err
	}
	a.cpu, a.serverCPU = cpuOf(pid)-cpuBefore, cpuOf(s.Pid())-serverCPUBefore
	if pid > 0 {
		a.peak, _ = workload.PeakRSS(fmt.Sprint(pid))
	}
	watcher.summarize(a, from)
	return a, nil
}

// waitBound waits until the given number of pods is bound.
func (b *bench) waitBound(watcher *podWatcher, pods int, s *server) error {
	timeout := 10 * time.Minute
	if b.o.quick {
		timeout = 20 * time.Second
	}
	for from := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		bound, seen := watcher.count()
		if bound >= pods {
			return nil
		}
		if passed := time.Since(from); b.ctx.Err() != nil || passed > timeout {
			return fmt.Errorf("%d of %d pods bound, %d seen after %v: %s", bound, pods, seen, passed, s.Tail())
		}
	}
}
