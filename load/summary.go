package load

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/internal/table"
)

// Summary is the result of a run.
type Summary struct {
	Run           string        `json:"run"`
	Total         int           `json:"total"`
	Placed        int           `json:"placed"`
	Pending       int           `json:"pending"`
	Unexplained   int           `json:"unexplained"` // pending without a message of the scheduler
	CreateSeconds float64       `json:"createSeconds"`
	Seconds       float64       `json:"seconds"` // until the last pod was scheduled or reported as unschedulable
	Reasons       []Reason      `json:"reasons,omitempty"`
	Utilization   []Utilization `json:"utilization"`
	Assumptions   []string      `json:"assumptions"`
}

// Reason is a scheduler message about pending pods, with their number.
type Reason struct {
	Message string `json:"message"`
	Pods    int    `json:"pods"`
}

// Utilization is the requested share of a resource over all nodes.
type Utilization struct {
	Resource    string `json:"resource"`
	Requested   string `json:"requested"`
	Allocatable string `json:"allocatable"`
	Percent     int64  `json:"percent"`
}

// summary returns the result of the run so far.
func (w *podWatcher) summary(ctx context.Context, o Options) (*Summary, error) {
	w.mu.Lock()
	s := &Summary{Run: o.Name, Total: len(o.Pods), Placed: len(w.placed), Assumptions: Assumptions}
	s.Pending = s.Total - s.Placed
	s.Unexplained = s.Pending - len(w.unschedulable)
	count := map[string]int{}
	for _, message := range w.unschedulable {
		count[message]++
	}
	w.mu.Unlock()
	for message, n := range count {
		s.Reasons = append(s.Reasons, Reason{message, n})
	}
	slices.SortFunc(s.Reasons, func(a, b Reason) int { return cmp.Or(b.Pods-a.Pods, cmp.Compare(a.Message, b.Message)) })
	var err error
	s.Utilization, err = utilization(ctx, o)
	return s, err
}

// utilization returns the requests of all scheduled pods, relative to the nodes' allocatable.
func utilization(ctx context.Context, o Options) ([]Utilization, error) {
	nodes, err := o.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	pods, err := o.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	allocatable, requested := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range nodes.Items {
		addResources(allocatable, nodes.Items[i].Status.Allocatable)
	}
	placed := int64(0)
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		addResources(requested, resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}))
		placed++
	}
	requested[corev1.ResourcePods] = *resource.NewQuantity(placed, resource.DecimalSI)
	var out []Utilization
	for name, total := range allocatable {
		u := requested[name]
		if total.IsZero() || u.IsZero() {
			continue
		}
		out = append(out, Utilization{string(name), u.String(), total.String(), int64(100 * u.AsApproximateFloat64() / total.AsApproximateFloat64())})
	}
	slices.SortFunc(out, func(a, b Utilization) int { return cmp.Compare(a.Resource, b.Resource) })
	return out, nil
}

func addResources(sum, list corev1.ResourceList) {
	for name, q := range list {
		total := sum[name]
		total.Add(q)
		sum[name] = total
	}
}

// maxReasons is the number of reasons that Print writes.
const maxReasons = 10

// Print writes the summary as text.
func (s *Summary) Print(w io.Writer) error {
	fmt.Fprintf(w, "%d pods created in %.1f s; after %.1f s: %d scheduled, %d pending", s.Total, s.CreateSeconds, s.Seconds, s.Placed, s.Pending)
	if s.Unexplained > 0 {
		fmt.Fprintf(w, " (%d of them not tried yet)", s.Unexplained)
	}
	fmt.Fprintln(w)
	if err := s.printReasons(w); err != nil || len(s.Utilization) == 0 {
		return err
	}
	t := table.New(table.Columns("RESOURCE", "REQUESTED", "ALLOCATABLE", "SHARE"), nil)
	for _, u := range s.Utilization {
		t.AddRow(u.Resource, u.Requested, u.Allocatable, fmt.Sprintf("%d%%", u.Percent))
	}
	fmt.Fprintln(w)
	return t.Write(w, false)
}

// printReasons writes the most frequent reasons, with their numbers of pods.
func (s *Summary) printReasons(w io.Writer) error {
	if len(s.Reasons) == 0 {
		return nil
	}
	shown := s.Reasons[:min(len(s.Reasons), maxReasons)]
	t := table.New(table.Columns("PENDING", "REASON"), nil)
	for _, r := range shown {
		t.AddRow(strconv.Itoa(r.Pods), r.Message)
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
