package trace

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/berthproject/berth/internal/table"
)

// maxReasons is the maximum number of printed reasons.
const maxReasons = 10

// Print writes the summary as text.
func (s *Summary) Print(w io.Writer) error {
	seconds := func(f float64) string {
		return time.Duration(f * float64(time.Second)).Round(time.Millisecond).String()
	}
	t := table.New(table.Columns("", ""), nil)
	t.AddRow("simulated", seconds(s.Seconds)+" of virtual time")
	t.AddRow("pods", fmt.Sprintf("%d created, %d scheduled, %d succeeded, %d failed, %d deleted", s.Created, s.Placed, s.Succeeded, s.FailedPods, s.Deleted))
	t.AddRow("at the end", fmt.Sprintf("%d on nodes, %d pending", s.Bound, s.Pending))
	t.AddRow("creation to binding", fmt.Sprintf("p50 %s, p99 %s; the last was bound at %s", seconds(s.LatencyP50), seconds(s.LatencyP99), seconds(s.LastBound)))
	t.AddRow("attempts without a node", fmt.Sprint(s.Rejections))
	if s.Victims > 0 {
		t.AddRow("preemption", fmt.Sprintf("%d victims of %d preemptors, the last at %s; %d by victims' replacements, chains of up to %d",
			s.Victims, s.Preemptors, seconds(s.LastVictim), s.Cascades, s.CascadeDepth))
	}
	for _, p := range s.Priorities {
		if len(s.Priorities) > 1 {
			t.AddRow(fmt.Sprintf("priority %d", p.Priority), fmt.Sprintf("%d on nodes, %d pending", p.Bound, p.Pending))
		}
	}
	if err := t.Write(w, false); err != nil {
		return err
	}
	if err := s.printUtilization(w); err != nil {
		return err
	}
	if err := s.printReasons(w); err != nil {
		return err
	}
	for _, f := range s.FailedExpectations {
		fmt.Fprintln(w, "FAILED EXPECTATION:", f)
	}
	if s.Violation != "" {
		fmt.Fprintln(w, "VIOLATED INVARIANT:", s.Violation)
	}
	return nil
}

// printReasons writes the most frequent reasons of pending pods, with their numbers of pods.
func (s *Summary) printReasons(w io.Writer) error {
	if len(s.Reasons) == 0 {
		return nil
	}
	shown := s.Reasons[:min(len(s.Reasons), maxReasons)]
	t := table.New(table.Columns("PENDING", "REASON"), nil)
	for _, r := range shown {
		t.AddRow(fmt.Sprint(r.Pods), r.Message)
	}
	fmt.Fprintln(w)
	if err := t.Write(w, false); err != nil {
		return err
	}
	if more := len(s.Reasons) - len(shown); more > 0 {
		fmt.Fprintf(w, "and %d more reasons (-o json shows them)\n", more)
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
	t := table.New(table.Columns(append([]string{"TIME", "ON NODES", "PENDING"}, names...)...), nil)
	for _, u := range s.Utilization {
		row := []string{(time.Duration(u.Seconds) * time.Second).String(), fmt.Sprint(u.Bound), fmt.Sprint(u.Pending)}
		for _, n := range names {
			row = append(row, fmt.Sprintf("%d%%", u.Percent[n]))
		}
		t.AddRow(row...)
	}
	fmt.Fprintln(w)
	return t.Write(w, false)
}
