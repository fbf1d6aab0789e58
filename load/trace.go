package load

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TracePod is a pod of a trace with its times since the start.
type TracePod struct {
	Pod              *corev1.Pod
	Created, Deleted time.Duration
}

// ReadTrace reads an OpenB pod list with creation and deletion times, in file order.
func ReadTrace(file string) ([]TracePod, error) {
	var out []TracePod
	columns := []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_spec", "qos", "creation_time", "deletion_time"}
	err := readCSV(file, columns, func(field func(column string) string) error {
		n, err := parseCounts(field, "cpu_milli", "memory_mib", "num_gpu", "creation_time", "deletion_time")
		if err != nil {
			return err
		}
		name, err := parseName(field, "name")
		if err != nil {
			return err
		}
		const limit = 1 << 33 // seconds; a time.Duration cannot hold more
		if n[3] > n[4] || n[4] >= limit {
			return fmt.Errorf("creation_time %d, deletion_time %d: must be seconds, with deletion_time at least creation_time and below %d", n[3], n[4], limit)
		}
		out = append(out, TracePod{
			Pod:     newPod(name, field("qos"), parseGPUModels(field("gpu_spec")), n[0], n[1], n[2]),
			Created: time.Duration(n[3]) * time.Second, Deleted: time.Duration(n[4]) * time.Second,
		})
		return nil
	})
	return out, err
}
