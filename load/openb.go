package load

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Names used by the conversion.
const (
	GPUModel = "berth.dev/gpu-model" // node label
	QOSLabel = "openb.berth.dev/qos" // pod label: QoS class of the trace
	RunLabel = "load.berth.dev/run"  // pod label: name of the run

	GPU corev1.ResourceName = "nvidia.com/gpu"
)

// Assumptions describe what the conversion adds to the trace.
var Assumptions = []string{
	"devices are whole: a share of a GPU (gpu_milli < 1000) takes one " + string(GPU),
	"gpu_spec is a required node affinity on the label " + GPUModel,
	"requests are also what a pod would use; no limits except of GPUs, no priorities, no owners",
	"pods run until they are deleted; creation and deletion times are not replayed",
}

// readCSV reads a CSV file with a header and calls row for each line. All columns must exist.
// Errors name file and line.
func readCSV(file string, columns []string, row func(field func(column string) string) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.ReuseRecord = true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: empty: must be a CSV file whose first line names the columns %s", file, strings.Join(columns, ", "))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	header = slices.Clone(header)
	index := map[string]int{}
	for _, c := range columns {
		if index[c] = slices.Index(header, c); index[c] < 0 {
			return fmt.Errorf("%s: no column %q; it has %s", file, c, strings.Join(header, ", "))
		}
	}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := row(func(c string) string { return record[index[c]] }); err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
}

func parseCount(field func(string) string, column string) (int64, error) {
	n, err := strconv.ParseInt(field(column), 10, 64)
	const limit = 1 << 40
	if err != nil || n < 0 || n > limit {
		return 0, fmt.Errorf("%s: %q: must be an integer from 0 to %d", column, field(column), limit)
	}
	return n, nil
}

// parseName reads the name of an object from a column.
func parseName(field func(string) string, column string) (string, error) {
	name := field(column)
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", fmt.Errorf("%s: %q: %s", column, name, problems[0])
	}
	return name, nil
}

// parseCounts parses several columns of a line.
func parseCounts(field func(string) string, columns ...string) ([]int64, error) {
	out := make([]int64, len(columns))
	for i, c := range columns {
		var err error
		if out[i], err = parseCount(field, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ReadNodes reads an OpenB node list.
func ReadNodes(file string) ([]*corev1.Node, error) {
	var out []*corev1.Node
	err := readCSV(file, []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, func(field func(string) string) error {
		n, err := parseCounts(field, "cpu_milli", "memory_mib", "gpu")
		if err != nil {
			return err
		}
		name, err := parseName(field, "sn")
		if err != nil {
			return err
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		node.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(n[0], resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(n[1]<<20, resource.BinarySI),
		}
		if n[2] > 0 {
			node.Status.Capacity[GPU] = *resource.NewQuantity(n[2], resource.DecimalSI)
			node.Labels[GPUModel] = field("model")
		}
		out = append(out, node)
		return nil
	})
	return out, err
}

// ReadPods reads an OpenB pod list in file order, at most limit pods if limit is positive. The
// pods have no namespace.
func ReadPods(file string, limit int) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	errLimit := errors.New("limit reached")
	err := readCSV(file, []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_spec", "qos"}, func(field func(string) string) error {
		if limit > 0 && len(out) == limit {
			return errLimit
		}
		n, err := parseCounts(field, "cpu_milli", "memory_mib", "num_gpu")
		if err != nil {
			return err
		}
		name, err := parseName(field, "name")
		if err != nil {
			return err
		}
		out = append(out, newPod(name, field("qos"), parseGPUModels(field("gpu_spec")), n[0], n[1], n[2]))
		return nil
	})
	if errors.Is(err, errLimit) {
		err = nil
	}
	return out, err
}

// parseGPUModels returns the distinct allowed GPU models; none means any.
func parseGPUModels(spec string) []string {
	if spec == "" {
		return nil
	}
	models := strings.Split(spec, "|")
	slices.Sort(models)
	return slices.Compact(models)
}

// newPod returns a pod with the requests of a line.
func newPod(name, qos string, models []string, cpuMilli, memMiB, gpus int64) *corev1.Pod {
	requests := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpuMilli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memMiB<<20, resource.BinarySI),
	}
	resources := corev1.ResourceRequirements{Requests: requests}
	if gpus > 0 {
		requests[GPU] = *resource.NewQuantity(gpus, resource.DecimalSI)
		// Extended resources cannot be overcommitted: the API requires the limit.
		resources.Limits = corev1.ResourceList{GPU: requests[GPU]}
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{QOSLabel: qos}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "task", Image: "openb/task:1", Resources: resources}}},
	}
	if qos == "" {
		delete(p.Labels, QOSLabel)
	}
	if len(models) > 0 && gpus > 0 {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: GPUModel, Operator: corev1.NodeSelectorOpIn, Values: models}},
			}}},
		}}
	}
	return p
}
