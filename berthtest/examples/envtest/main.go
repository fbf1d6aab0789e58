// Command envtest compares the start time and the memory of berthtest with those of envtest of controller-runtime, which
// runs kube-apiserver and etcd. `make bench-berthtest` builds these two and runs it.
//
// Each run is a process that starts a cluster, lists namespaces, stops the cluster, and does the same once more.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"
)

// result is the outcome of one run.
type result struct {
	First, Second time.Duration
	CPU           time.Duration // of all processes, per start and stop
	MemoryKiB     int           // resident memory of the process and its children after the first start
	Processes     int
}

func main() {
	assets := flag.String("assets", os.Getenv("KUBEBUILDER_ASSETS"), "directory with etcd and kube-apiserver")
	runs := flag.Int("runs", 5, "runs of each kind")
	kind := flag.String("run", "", "for internal use: run a cluster of this kind in this process")
	flag.Parse()
	err := errors.New("-assets: must be a directory with etcd and kube-apiserver")
	switch {
	case *kind != "":
		err = run(*kind, *assets)
	case *assets != "" && *runs > 0:
		err = compare(*assets, *runs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "envtest:", err)
		os.Exit(1)
	}
}

// compare runs each kind in turn and prints the medians.
func compare(assets string, runs int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	results := map[string][]result{}
	for range runs {
		for _, kind := range kinds {
			output, err := exec.Command(self, "-run", kind.name, "-assets", assets).Output()
			if err != nil {
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					err = fmt.Errorf("%w: %s", err, exit.Stderr)
				}
				return fmt.Errorf("running %s: %w", kind.name, err)
			}
			var r result
			if err := json.Unmarshal(output, &r); err != nil {
				return fmt.Errorf("reading the result of %s: %w", kind.name, err)
			}
			results[kind.name] = append(results[kind.name], r)
		}
	}
	fmt.Printf("%s, %d runs each, median (minimum to maximum)\n\n", time.Now().Format(time.DateOnly), runs)
	fmt.Println("| cluster | first start | second start in the process | CPU time of a start and stop | resident memory | processes |\n| --- | --- | --- | --- | --- | --- |")
	for _, kind := range kinds {
		var first, second, cpu, memory []float64
		for _, r := range results[kind.name] {
			first, second = append(first, r.First.Seconds()), append(second, r.Second.Seconds())
			cpu, memory = append(cpu, r.CPU.Seconds()), append(memory, float64(r.MemoryKiB)/1024)
		}
		fmt.Printf("| %s | %s s | %s s | %s s | %s MiB | %d |\n", kind.title, spread(first, 1), spread(second, 1), spread(cpu, 1), spread(memory, 0), results[kind.name][0].Processes)
	}
	return nil
}

// spread formats the median and the range of values.
func spread(values []float64, digits int) string {
	slices.Sort(values)
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, values[len(values)/2], digits, values[0], digits, values[len(values)-1])
}
