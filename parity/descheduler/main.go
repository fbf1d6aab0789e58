package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

type options struct {
	quick  bool
	rounds int
	only   *regexp.Regexp
	cpu    string
	berth  string
	keep   string
}

func main() {
	var o options
	var only, file string
	flag.BoolVar(&o.quick, "quick", false, "smoke test: small clusters, one round; its figures have no meaning")
	flag.IntVar(&o.rounds, "rounds", 3, "number of rounds")
	flag.StringVar(&only, "only", "", "regular expression of the workloads")
	flag.StringVar(&o.cpu, "cpu", "0", "CPU to pin both sides to, in the format of taskset")
	flag.StringVar(&o.berth, "berth", "../..", "directory of Berth's module")
	flag.StringVar(&o.keep, "keep", "", "directory to write the workloads to, as input of either side; nothing is measured")
	flag.StringVar(&file, "peer", "", "file of a workload to run with the real descheduler in this process; its result is printed")
	flag.Parse()
	klog.SetLogger(logr.Discard()) // of the libraries
	o.only = regexp.MustCompile(only)
	if o.quick {
		o.rounds = 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := func() error { return measure(ctx, &o) }
	if file != "" {
		run = func() error { return runOnce(ctx, file) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "descheduler:", err)
		os.Exit(1)
	}
}

// runOnce runs the Kubernetes descheduler on a workload and prints the cost.
func runOnce(ctx context.Context, file string) error {
	w, err := readWorkload(file)
	if err != nil {
		return err
	}
	p, err := newRealDescheduler(ctx, w)
	if err != nil {
		return err
	}
	r, err := p.pass(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
