package config

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// diskSpaceFields are fields of the kubelet's former disk-space manager, which
// KubeletConfiguration v1beta1 does not have.
type diskSpaceFields struct {
	LowDiskSpaceThresholdMB      *int64           `json:"lowDiskSpaceThresholdMB,omitempty"`
	OutOfDiskTransitionFrequency *metav1.Duration `json:"outOfDiskTransitionFrequency,omitempty"`
}

// maxDiskSpaceThresholdMB is the maximum of lowDiskSpaceThresholdMB. In bytes it does not overflow an int64.
const maxDiskSpaceThresholdMB = 1 << 40

var diskSpaceFieldNames = []string{"lowDiskSpaceThresholdMB", "outOfDiskTransitionFrequency"}

// extractDiskSpace decodes diskSpaceFields and returns the file without them.
func (d *diagnostics) extractDiskSpace(js []byte) (remaining []byte, out diskSpaceFields) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(js, &fields) != nil {
		return js, out // decoding the file reports the error
	}
	diskSpace := map[string]json.RawMessage{}
	for _, name := range diskSpaceFieldNames {
		if v, ok := fields[name]; ok {
			diskSpace[name] = v
			delete(fields, name)
		}
	}
	if len(diskSpace) == 0 {
		return js, out
	}
	text, err := json.Marshal(diskSpace)
	if err != nil {
		return js, out
	}
	d.decode("", text, &out)
	if text, err = json.Marshal(fields); err != nil {
		return js, out
	}
	return text, out
}

// compileDiskSpace sets the disk reserve. Its condition lasts as long as those of node pressure
// unless the file sets outOfDiskTransitionFrequency.
func (d *diagnostics) compileDiskSpace(k *Kubelet, c diskSpaceFields) {
	k.LowDiskSpaceThresholdMB, k.OutOfDiskTransition = c.LowDiskSpaceThresholdMB, k.Pressure.TransitionPeriod
	if n := c.LowDiskSpaceThresholdMB; n != nil && (*n < 0 || *n > maxDiskSpaceThresholdMB) {
		d.errorf("lowDiskSpaceThresholdMB: %d: must be a number of MiB between 0 and %d; 0 keeps no reserve", *n, int64(maxDiskSpaceThresholdMB))
	}
	if period := c.OutOfDiskTransitionFrequency; period != nil {
		k.OutOfDiskTransition = period.Duration
		d.requireNonNegative("outOfDiskTransitionFrequency", period.Duration)
	}
}
