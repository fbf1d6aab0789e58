package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/load"
	"github.com/berthproject/berth/sim/store"
	simtrace "github.com/berthproject/berth/sim/trace"
)

// openbFlags holds the flags for OpenB traces.
type openbFlags struct {
	nodes, pods        string
	fillUp, priorities bool
	day, speed         int
	rate               float64
}

func (f *openbFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.nodes, "openb-nodes", "", "OpenB node list (CSV)")
	flags.StringVar(&f.pods, "openb-pods", "", "OpenB pod list (CSV): pods are created and deleted at the recorded times")
	flags.IntVar(&f.day, "openb-day", -1, "first day of the trace, counted from 0; -1 for the busiest day")
	flags.IntVar(&f.speed, "openb-speed", 1, "factor by which arrivals are accelerated; pods run as long as recorded")
	flags.BoolVar(&f.fillUp, "openb-fill", false, "create all pods in the order of the list and delete none")
	flags.Float64Var(&f.rate, "openb-rate", 100, "pods per second with --openb-fill")
	flags.BoolVar(&f.priorities, "openb-priorities", false, "set priorities by class: LS 1000, Burstable and Guaranteed 500, BE 0; victims are recreated")
}

func (f *openbFlags) isSet() bool { return f.nodes != "" || f.pods != "" }

func (f *openbFlags) validate() error {
	switch {
	case f.pods != "" && f.nodes == "":
		return errors.New("--openb-pods: requires --openb-nodes")
	case f.pods == "" && f.fillUp:
		return errors.New("--openb-fill: requires --openb-pods")
	case f.pods == "" && f.priorities:
		return errors.New("--openb-priorities: requires --openb-pods")
	case f.day < -1 || f.day > 100_000:
		return fmt.Errorf("--openb-day %d: must be -1, or a day of the trace counted from 0", f.day)
	case f.speed < 1 || f.speed > 1_000_000:
		return fmt.Errorf("--openb-speed %d: must be between 1 and 1000000", f.speed)
	case !(f.rate > 0 && f.rate <= 1e6):
		return fmt.Errorf("--openb-rate %g: must be above 0 and at most 1000000", f.rate)
	}
	return nil
}

// addTo adds the trace's nodes and pods to the simulation.
func (f *openbFlags) addTo(s *simtrace.Simulation, untilSet bool) error {
	if f.nodes == "" {
		return nil
	}
	nodes, err := load.ReadNodes(f.nodes)
	if err != nil {
		return config.NameFlag(err, "--openb-nodes", f.nodes)
	}
	for _, n := range nodes {
		n.Status.Capacity[corev1.ResourcePods] = *resource.NewQuantity(110, resource.DecimalSI) // the kubelet's default
		store.ApplyDefaults(n)
		s.Objects = append(s.Objects, n)
	}
	if f.pods == "" {
		return nil
	}
	tracePods, err := load.ReadTrace(f.pods)
	if err != nil {
		return config.NameFlag(err, "--openb-pods", f.pods)
	}
	if len(tracePods) == 0 {
		return fmt.Errorf("--openb-pods %s: no pods: must have a line per pod below the header", f.pods)
	}
	arrivals := make([]simtrace.Arrival, 0, len(tracePods))
	for _, t := range tracePods {
		t.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		store.ApplyDefaults(t.Pod)
		arrivals = append(arrivals, simtrace.Arrival{Pod: t.Pod, Arrives: t.Created, Departs: t.Deleted})
	}
	if f.fillUp {
		s.Arrivals = simtrace.FixedRate(arrivals, f.rate)
		if !untilSet {
			last := s.Arrivals[len(s.Arrivals)-1].Arrives
			s.Until = (last + last/4 + 2*time.Minute).Truncate(time.Second)
		}
	} else {
		day := f.day
		if day < 0 {
			day = simtrace.BusiestDay(arrivals, s.Until*time.Duration(f.speed))
		}
		s.Arrivals = simtrace.Window(arrivals, time.Duration(day)*24*time.Hour, s.Until, f.speed)
	}
	if f.priorities {
		simtrace.SetPriorities(s.Arrivals, load.QOSLabel, map[string]int32{"LS": 1000, "Burstable": 500, "Guaranteed": 500})
		simtrace.MarkReplaced(s.Arrivals)
	}
	return nil
}
