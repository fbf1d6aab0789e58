package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/nodepressure"
)

// signals are the eviction signals that the guard handles.
var signals = []nodepressure.Signal{nodepressure.MemoryAvailable, nodepressure.AllocatableMemoryAvailable, nodepressure.PIDAvailable}

// KubeletConfig is the part of the kubelet's configuration that the guard needs.
type KubeletConfig struct {
	CgroupDriver string            `json:"cgroupDriver"`
	CgroupRoot   string            `json:"cgroupRoot"`
	EvictionHard map[string]string `json:"evictionHard"`
	EvictionSoft map[string]string `json:"evictionSoft"`
}

// ConflictError reports that the kubelet handles the guard's eviction signals itself.
type ConflictError struct{ Message string }

func (e *ConflictError) Error() string { return e.Message }

// ReadKubeletConfig reads the effective configuration of the node's kubelet (/configz).
func ReadKubeletConfig(ctx context.Context, client kubernetes.Interface, node string) (*KubeletConfig, error) {
	data, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/" + node + "/proxy/configz").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet configuration of node %s (nodes/%s/proxy/configz): %w", node, node, err)
	}
	var response struct {
		Kubelet *KubeletConfig `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(data, &response); err != nil || response.Kubelet == nil {
		return nil, fmt.Errorf("nodes/%s/proxy/configz: not a kubelet configuration: %.200s", node, data)
	}
	return response.Kubelet, nil
}

// Check returns a ConflictError if the kubelet evicts for a signal that the guard handles.
func (k *KubeletConfig) Check(node string) error {
	var conflicts []string
	for field, thresholds := range map[string]map[string]string{"evictionHard": k.EvictionHard, "evictionSoft": k.EvictionSoft} {
		for name, value := range thresholds {
			if s, ok := nodepressure.ParseSignal(name); ok && slices.Contains(signals, s) && !isDisabled(value) {
				conflicts = append(conflicts, fmt.Sprintf("%s: %s<%s", field, name, value))
			}
		}
	}
	if len(conflicts) == 0 {
		return nil
	}
	slices.Sort(conflicts)
	return &ConflictError{fmt.Sprintf("the kubelet of node %s evicts for the same signals (%s): in its KubeletConfiguration set evictionHard to disk thresholds only "+
		`(for example {nodefs.available: "10%%", nodefs.inodesFree: "5%%", imagefs.available: "15%%"}; other signals are then disabled), remove memory and pid from evictionSoft, and restart it`,
		node, strings.Join(conflicts, ", "))}
}

// isDisabled reports whether a threshold value disables the signal.
func isDisabled(value string) bool {
	return slices.Contains([]string{"", "0", "0%", "100%"}, strings.TrimSpace(value))
}
