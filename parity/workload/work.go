package workload

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Workload is the input of a scheduler.
type Workload struct {
	Name string
	// Percentage is kube-scheduler's percentageOfNodesToScore: 0 samples, 100 evaluates all
	// nodes. Berth always evaluates all nodes.
	Percentage int32
	Nodes      []*corev1.Node
	Services   []*corev1.Service
	// Templates are pods without name and UID. Everything else refers to them by index.
	Templates []*corev1.Pod
	Placed    []Placed // on their nodes before any pod arrives
	Pods      []int    // the template of each arriving pod, in order
	Warm      int      // the first pods of Pods, which are not measured
	MaxBound  int      // maximum number of bound pods: beyond it the oldest is removed for each new one; 0 for none
	// Settle, if positive, ends the measurement after this number of seconds without a binding or
	// eviction. Otherwise it ends when each pod has been bound or found unschedulable.
	Settle float64
	// Batch, if positive, is the number of pods that arrive at once. The next batch arrives when
	// each of them has been bound or, with CountUnschedulable, found unschedulable.
	Batch int
	// Recreate makes each victim of preemption arrive again as a new pod.
	Recreate bool
	// CountUnschedulable counts unschedulable pods as finished.
	CountUnschedulable bool
	// OnDemand creates pods when they arrive, so that the process holds none that the scheduler
	// does not hold. The measurement then includes their creation.
	OnDemand bool
}

// Placed is a pod on a node.
type Placed struct {
	Template int
	Node     string
}

// Result has the measurements from the arrival of the first measured pod to the last decision. Sums
// are over all measured pods.
type Result struct {
	Pods     int     // measured
	Seconds  float64 // wall clock
	CPU      float64 // seconds, user and system, of the whole process
	Allocs   float64
	Bytes    float64 // allocated
	PeakRSS  float64 // bytes, of the process since its start
	LiveHeap float64 // bytes, after a garbage collection at the end
	// Decisions alone: their number, and their wall-clock time in seconds.
	Decisions float64
	Deciding  float64

	Bound, Refused, Victims int
	Cascades                int     // victims that had been victims before
	LastChange              float64 // seconds from the start to the last binding or eviction
	NodesUsed, MostOnOne    int     // by the pods that arrived
	Final                   []Final `json:",omitempty"` // when Settle is set
}

// Final is the node of a pod at the end.
type Final struct {
	Pod  int    // index in Pods
	Node string // empty if pending
}

// Write writes the workload to a file as JSON.
func (w *Workload) Write(file string) error {
	raw, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o644)
}

// Read reads a workload from a file that Write has written.
func Read(file string) (*Workload, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	w := &Workload{}
	return w, json.Unmarshal(raw, w)
}

// SetIdentity sets the name and the UID of a pod.
func SetIdentity(pod *corev1.Pod, name string) {
	pod.Name = name
	pod.UID = types.UID("b1946ac9-2492-4d23-8f9c-" + name)
	pod.CreationTimestamp = metav1.Now()
}

// PeakRSS returns the peak resident memory of a process in bytes, as reported by the
// kernel.
func PeakRSS(pid string) (float64, error) {
	raw, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kib * 1024, err
		}
	}
	return 0, errors.New("/proc/" + pid + "/status: no line VmHWM")
}
