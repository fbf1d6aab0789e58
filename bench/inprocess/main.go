package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

func main() {
	minTime := flag.Duration("min-time", 2*time.Second, "CPU time after which no further run starts")
	profile := flag.String("cpuprofile", "", "file for a CPU profile of all runs")
	allocs := flag.String("memprofile", "", "file for a profile of every allocation; slows down the runs")
	inShell := flag.Bool("shell", false, "include the scheduler's informers and executor, on an in-memory API")
	flag.Parse()
	if *allocs != "" {
		runtime.MemProfileRate = 1
		defer func() {
			if f, err := os.Create(*allocs); err == nil {
				_ = pprof.Lookup("allocs").WriteTo(f, 0)
				f.Close()
			}
		}()
	}
	runFunc := runOnce
	if *inShell {
		runFunc = runOnceInShell
	}
	if err := run(flag.Arg(0), *minTime, *profile, runFunc); err != nil {
		fmt.Fprintln(os.Stderr, "inprocess:", err)
		os.Exit(1)
	}
}

func run(file string, minTime time.Duration, profile string, runFunc func(*Workload) (*Result, any, error)) error {
	w, err := readWorkload(file)
	if err != nil {
		return fmt.Errorf("usage: inprocess FILE (a workload of parity/bench): %w", err)
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	r, err := measure(w, minTime, runFunc)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// measure repeats the workload until minTime of CPU time has been measured, at most 20 times and for at most
// 20 times minTime. A workload with Settle runs once. It returns means, and the memory of the first run.
func measure(w *Workload, minTime time.Duration, runFunc func(*Workload) (*Result, any, error)) (*Result, error) {
	sum := &Result{}
	start, n := time.Now(), 0
	for n == 0 || w.Settle == 0 && n < 20 && sum.CPU < minTime.Seconds() && time.Since(start) < 20*minTime {
		result, retained, err := runFunc(w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Name, err)
		}
		if n++; n > 1 {
			result.PeakRSS, result.LiveHeap = sum.PeakRSS, sum.LiveHeap
		} else if err := result.recordMemory(retained); err != nil {
			return nil, err
		}
		result.Seconds += sum.Seconds
		result.CPU += sum.CPU
		result.Allocs += sum.Allocs
		result.Bytes += sum.Bytes
		result.Decisions += sum.Decisions
		result.Deciding += sum.Deciding
		sum = result
	}
	for _, f := range []*float64{&sum.Seconds, &sum.CPU, &sum.Allocs, &sum.Bytes, &sum.Decisions, &sum.Deciding} {
		*f /= float64(n)
	}
	return sum, nil
}

// runOnce runs the workload on a new machine. It also returns the value to pass to recordMemory.
func runOnce(w *Workload) (*Result, any, error) {
	d, err := newDriver(w)
	if err != nil {
		return nil, nil, err
	}
	if err := d.arrive(0, w.Warm); err != nil {
		return nil, nil, err
	}
	r := &Result{Pods: len(w.Pods) - w.Warm}
	d.resetCounters()
	pods, err := d.prepare(w.Warm, len(w.Pods))
	if err != nil {
		return nil, nil, err
	}
	before := readMeters(d.placer)
	if err := d.arriveAll(pods); err != nil {
		return nil, nil, err
	}
	readMeters(d.placer).since(before, r)
	d.finish(r)
	return r, d, nil
}

// recordMemory records the peak memory of the process and the heap that is in use with the retained value.
func (r *Result) recordMemory(retained any) (err error) {
	if r.PeakRSS, err = peakRSS(); err != nil {
		return err
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.LiveHeap = float64(m.HeapAlloc)
	runtime.KeepAlive(retained)
	return nil
}
