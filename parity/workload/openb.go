package workload

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPU is the resource that OpenB's pods request in whole units. gpuModel is the label of
// nodes with GPUs.
const (
	GPU      corev1.ResourceName = "nvidia.com/gpu"
	gpuModel string              = "openb/gpu-model"
)

// priorities are the priorities of OpenB's QoS classes.
var priorities = map[string]int32{"LS": 1000, "Burstable": 500, "Guaranteed": 500, "BE": 0}

// OpenB returns the workload of the OpenB trace in dir. Pods request whole GPUs, in total more
// than exist. They arrive in the order of the file, in batches. Evictions are immediate, and a
// victim arrives again at once. A positive limit is the maximum number of pods.
func OpenB(dir string, limit int) (*Workload, error) {
	w := &Workload{Name: "openb", Batch: 50, Settle: 12, Recreate: true, CountUnschedulable: true}
	err := readCSV(filepath.Join(dir, "openb_node_list_all_node.csv"), func(f func(string) string) error {
		amounts, err := quantities(f, map[corev1.ResourceName]string{corev1.ResourceCPU: "cpu_milli", corev1.ResourceMemory: "memory_mib", GPU: "gpu"})
		if err != nil {
			return err
		}
		amounts[corev1.ResourcePods] = resource.MustParse("110")
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f("sn"), Labels: map[string]string{Host: f("sn"), gpuModel: f("model")}}}
		n.Status = corev1.NodeStatus{Capacity: amounts, Allocatable: amounts}
		w.Nodes = append(w.Nodes, n)
		return nil
	})
	if err != nil {
		return nil, err
	}
	templates := map[string]int{} // indexes of templates by their contents
	err = readCSV(filepath.Join(dir, "openb_pod_list_default.csv"), func(f func(string) string) error {
		if limit > 0 && len(w.Pods) == limit {
			return nil
		}
		key := strings.Join([]string{f("cpu_milli"), f("memory_mib"), f("num_gpu"), f("gpu_spec"), f("qos")}, " ")
		index, ok := templates[key]
		if !ok {
			amounts, err := quantities(f, map[corev1.ResourceName]string{corev1.ResourceCPU: "cpu_milli", corev1.ResourceMemory: "memory_mib", GPU: "num_gpu"})
			if err != nil {
				return err
			}
			index = len(w.Templates)
			templates[key] = index
			w.Templates = append(w.Templates, openBPod(f("qos"), f("gpu_spec"), amounts))
		}
		w.Pods = append(w.Pods, index)
		return nil
	})
	return w, err
}

func openBPod(class, models string, amounts corev1.ResourceList) *corev1.Pod {
	return pod(strings.ToLower(class), func(s *corev1.PodSpec) {
		s.Priority = new(priorities[class])
		s.Containers[0].Resources.Requests = amounts
		if gpus, ok := amounts[GPU]; ok {
			s.Containers[0].Resources.Limits = corev1.ResourceList{GPU: gpus}
		}
		if models != "" {
			s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: gpuModel, Operator: corev1.NodeSelectorOpIn, Values: strings.Split(models, "|")}}}}}}}
		}
	})
}

// quantities reads columns. Values of 0 are omitted.
func quantities(f func(string) string, columns map[corev1.ResourceName]string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for name, column := range columns {
		n, err := strconv.ParseInt(f(column), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", column, err)
		}
		switch {
		case n == 0:
		case name == corev1.ResourceCPU:
			list[name] = *resource.NewMilliQuantity(n, resource.DecimalSI)
		case name == corev1.ResourceMemory:
			list[name] = *resource.NewQuantity(n<<20, resource.BinarySI)
		default:
			list[name] = *resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	return list, nil
}

// readCSV calls row for each line of a CSV file with a header.
func readCSV(file string, row func(field func(column string) string) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(records) == 0 {
		return fmt.Errorf("%s: is empty: must have a header", file)
	}
	for i, record := range records[1:] {
		missing := ""
		err := row(func(column string) string {
			if index := slices.Index(records[0], column); index >= 0 {
				return record[index]
			}
			missing = column
			return ""
		})
		if missing != "" {
			return fmt.Errorf("%s: column %q is missing: the header is %q", file, missing, records[0])
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, i+2, err)
		}
	}
	return nil
}
