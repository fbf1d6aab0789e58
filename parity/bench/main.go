package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

type options struct {
	quick  bool
	rounds int
	only   *regexp.Regexp
	parts  string
	cpus   string
	berth  string
	nodes  int
	keep   string
}

func main() {
	var o options
	var only string
	flag.BoolVar(&o.quick, "quick", false, "smoke test: small clusters, few pods, one round; its figures have no meaning")
	flag.IntVar(&o.rounds, "rounds", 3, "number of rounds")
	flag.StringVar(&only, "only", "", "regular expression of the workloads to measure")
	flag.StringVar(&o.parts, "parts", "inprocess,memory,openb,endtoend", "parts to measure")
	flag.StringVar(&o.cpus, "cpus", "", "CPUs to pin both sides to, in the format of taskset; empty: all")
	flag.StringVar(&o.berth, "berth", "..", "directory of Berth's module")
	flag.IntVar(&o.nodes, "nodes", 5000, "nodes of the in-process cluster")
	flag.StringVar(&o.keep, "keep", "", "directory to write the workloads to, as input of kubescheduler or inprocess; nothing is measured in process")
	flag.Parse()
	klog.SetLogger(logr.Discard()) // of the libraries
	o.only = regexp.MustCompile(only)
	if o.quick {
		o.rounds, o.nodes = 1, 200
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, o *options) error {
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	parts := map[string]func() error{"inprocess": b.inProcess, "memory": b.memory, "openb": b.openB, "endtoend": b.endToEnd}
	for name := range strings.SplitSeq(o.parts, ",") {
		part, ok := parts[name]
		if !ok {
			return fmt.Errorf("-parts %q: must be inprocess, memory, openb or endtoend", name)
		}
		if err := part(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
