package trace

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// maxReasons is the maximum number of printed reasons.
const maxReasons = 10

// Print writes the summary as text.
func (s *Summary) Print(w io.Writer) error {
	seconds := func(f float64) string {
		return time.Duration(f * float64(time.Second)).Round(time.Millisecond).String()
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "simulated\t%s of virtual time\n", seconds(s.Seconds))
	fmt.Fprintf(t, "pods\t%d created, %d scheduled, %d succeeded, %d failed, %d deleted\n", s.Created, s.Placed, s.Succeeded, s.FailedPods, s.Deleted)
	fmt.Fprintf(t, "at the end\t%d on nodes, %d pending\n", s.Bound, s.Pending)
	fmt.Fprintf(t, "creation to binding\tp50 %s, p99 %s; the last was bound at %s\n", seconds(s.LatencyP50), seconds(s.LatencyP99), seconds(s.LastBound))
	fmt.Fprintf(t, "attempts without a node\t%d\n", s.Rejections)
	if s.Victims > 0 {
		fmt.Fprintf(t, "preemption\t%d victims of %d preemptors, the last at %s; %d by victims' replacements, chains of up to %d\n",
			s.Victims, s.Preemptors, seconds(s.LastVictim), s.Cascades, s.CascadeDepth)
	}
	for _, p := range s.Priorities {
		if len(s.Priorities) > 1 {
			fmt.Fprintf(t, "priority %d\t%d on nodes, %d pending\n", p.Priority, p.Bound, p.Pending)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := s.printUtilization(w); err != nil {
		return err
	}
	for i, r := range s.Reasons {
		if i == maxReasons {
			fmt.Fprintf(w, "  and %d other reasons (-o json has all)\n", len(s.Reasons)-i)
			break
		}
		if i == 0 {
			fmt.Fprintln(w, "\npending because of:")
		}
		fmt.Fprintf(w, "  %5d  %s\n", r.Pods, r.Message)
	}
	for _, f := range s.FailedExpectations {
		fmt.Fprintln(w, "FAILED EXPECTATION:", f)
	}
	if s.Violation != "" {
		fmt.Fprintln(w, "VIOLATED INVARIANT:", s.Violation)
	}
	return nil
}

func (s *Summary) printUtilization(w io.Writer) error {
	if len(s.Utilization) == 0 {
		return nil
	}
	var names []string
	for _, u := range s.Utilization {
		names = slices.AppendSeq(names, maps.Keys(u.Percent))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\ntime\ton nodes\tpending\t%s\t\n", strings.Join(names, "\t"))
	for _, u := range s.Utilization {
		fmt.Fprintf(t, "%v\t%d\t%d\t", time.Duration(u.Seconds)*time.Second, u.Bound, u.Pending)
		for _, n := range names {
			fmt.Fprintf(t, "%d%%\t", u.Percent[n])
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
