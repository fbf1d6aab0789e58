//go:build linux

package nodeagent

import (
	"testing"

	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/engine/nodepressure"
)

// TestClaimReserve checks that the node's thresholds apply only to claims on the node's file system.
func TestClaimReserve(t *testing.T) {
	o := Options{Root: t.TempDir()}
	o.Kubelet.Pressure.Thresholds = []nodepressure.Threshold{
		{Signal: nodepressure.ImageFsAvailable, Value: nodepressure.Value{Percentage: 0.5}},
		{Signal: nodepressure.NodeFsAvailable, Value: nodepressure.Value{Percentage: 0.25}},
	}
	for _, c := range []struct {
		name, dir      string
		capacity, want int64
	}{
		{"disk of the node", o.Root, 100 << 30, 25 << 30},
		{"small disk of the node", o.Root, 2 << 30, volume.MinDiskReserve},
		{"other disk", "/proc", 100 << 30, volume.MinDiskReserve},
	} {
		if got, err := o.claimReserve(c.dir, c.capacity); err != nil || got != c.want {
			t.Errorf("%s: reserve %d, %v; want %d", c.name, got, err, c.want)
		}
	}
	if _, err := o.claimReserve("/missing", 1); err == nil {
		t.Error("missing directory: no error")
	}
}
