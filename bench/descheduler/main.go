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

// maxPasses is the maximum number of measured passes.
const maxPasses = 50

func main() {
	planned := flag.Bool("planned", false, "planned mode instead of compatible mode")
	minTime := flag.Duration("min-time", 0, "CPU time after which no further pass starts")
	profile := flag.String("cpuprofile", "", "file for a CPU profile of the passes")
	flag.Parse()
	if err := run(flag.Arg(0), *planned, *minTime, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "descheduler:", err)
		os.Exit(1)
	}
}

func run(file string, planned bool, minTime time.Duration, profile string) error {
	workload, err := readWorkload(file)
	if err != nil {
		return err
	}
	c, err := newBenchCluster(workload)
	if err != nil {
		return fmt.Errorf("%s: %w", workload.Name, err)
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
	r := &Result{}
	n := 0
	for ; n == 0 || r.CPU < minTime.Seconds() && n < maxPasses; n++ {
		runtime.GC()
		r.Refused = 0
		if err := c.pass(planned, r); err != nil {
			return err
		}
	}
	for _, sum := range []*float64{&r.CPU, &r.Seconds, &r.Allocs} {
		*sum /= float64(n)
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
