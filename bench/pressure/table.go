package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is the outcome of the runs of one watcher with one rate.
type row struct {
	watcher watcher
	rate    int64 // bytes/s
	runs    []outcome
}

func (r row) oomKills() (n int) {
	for _, o := range r.runs {
		if o.oom {
			n++
		}
	}
	return n
}

func (r row) unexpected() (names []string) {
	for _, o := range r.runs {
		names = append(names, o.unexpected...)
	}
	return names
}

// times returns one of the times of the runs without an OOM kill, ascending.
func (r row) times(get func(outcome) time.Duration) []time.Duration {
	var all []time.Duration
	for _, o := range r.runs {
		if !o.oom {
			all = append(all, get(o))
		}
	}
	slices.Sort(all)
	return all
}

// quantile returns a quantile of ascending times.
func quantile(all []time.Duration, q float64) time.Duration {
	return all[min(int(q*float64(len(all))), len(all)-1)]
}

// quantiles formats the median, the 99th percentile and the maximum of ascending times, in milliseconds.
func quantiles(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	var out []string
	for _, q := range []float64{0.5, 0.99, 1} {
		out = append(out, fmt.Sprintf("%.1f", float64(quantile(all, q).Microseconds())/1000))
	}
	return strings.Join(out, " / ")
}

func printTable(out io.Writer, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "watcher\thog MiB/s\treached\truns\tkernel first\tcrossing to SIGKILL ms p50 / p99 / max\tto below ms p50 / p99 / max\tmaximum over MiB\twrong victims")
	for _, r := range rows {
		var reached, excess int64
		for _, o := range r.runs {
			reached, excess = max(reached, o.rate), max(excess, o.excess)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%d\t%d\n", r.watcher.name, r.rate>>20, reached>>20, len(r.runs), r.oomKills(),
			quantiles(r.times(func(o outcome) time.Duration { return o.kill })), quantiles(r.times(func(o outcome) time.Duration { return o.recovery })),
			excess>>20, len(r.unexpected()))
	}
	_ = w.Flush()
}
